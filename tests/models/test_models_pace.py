"""The bound on requests in flight finds what a server takes, and is not misled by refusals that do not depend on it.

All in virtual time: answers take two seconds on average.
"""

from collections.abc import Callable

import pytest
from busy_server import Server, flood

from etude.models.wrappers.pace import FLOOR, Pace
from rows import few


def by_chance(share: float) -> Callable[[Server], bool]:
    return lambda server: server.chance.random() < share


@pytest.mark.parametrize(
    ("share", "slots", "refuses_after"), few([(0.3, 2000, 0.05), (0.1, 300, 2.0)], (0.1, 300, 2.0))
)
def test_refusals_by_chance_hardly_cost_more_than_their_share(share: float, slots: int, refuses_after: float):
    server = Server(by_chance(share), refuses_after=refuses_after)
    found = flood(server, slots, 8 * slots)
    assert found.failed == []
    assert found.seconds < (1.2 / (1 - share)) * 8 * 2 + 5 + 2 * refuses_after
    assert found.limits[-1] > slots / 2


@pytest.mark.parametrize("takes", [2, 50])
def test_a_server_that_takes_so_many_at_once_is_kept_busy_and_spared(takes: int):
    server = Server(lambda server: server.under_way >= takes)
    found = flood(server, 300, 40 * takes)
    assert found.failed == []
    assert found.seconds < 1.15 * 40 * 2
    later = [at for at in server.refused if at > 20]
    assert len(later) < max(0.2 * len(server.accepted), 4 * found.seconds)
    assert found.limits[-20:] == pytest.approx([max(takes, FLOOR)] * 20, rel=0.3, abs=4)


@pytest.mark.parametrize(
    ("number", "period", "says_when"),
    few([(50, 1, False), (50, 1, True), (20, 60, False), (20, 60, True)], (20, 60, False), (20, 60, True)),
)
def test_a_limit_on_requests_in_a_time_is_respected(number: int, period: float, says_when: bool):
    def until_free(server: Server) -> float | None:
        return server.accepted[-number] + period - server.now if says_when else None

    server = Server(lambda server: server.lately(period) >= number, until_free)
    minutes = 3
    found = flood(server, 200, int(minutes * 60 * number / period))
    assert found.failed == []
    assert found.seconds < 1.6 * minutes * 60
    assert len(server.refused) < 15 * found.seconds


def test_refused_requests_that_count_against_the_limit_do_not_use_it_up():
    server = Server(lambda server: server.lately(60) + sum(at > server.now - 60 for at in server.refused) >= 20)
    found = flood(server, 100, 60)
    assert found.failed == []
    assert found.seconds < 360


def test_the_bound_follows_a_limit_that_changes():
    def takes(server: Server) -> int:
        return 200 if server.now < 60 or server.now > 160 else 20

    found = flood(Server(lambda server: server.under_way >= takes(server)), 300, 15_000)
    assert found.limits[50] == pytest.approx(200, rel=0.2)
    assert found.limits[90] == pytest.approx(20, rel=0.3)
    assert found.limits[200] == pytest.approx(200, rel=0.2)


def test_less_than_the_floor_is_taken_by_longer_rests():
    pace = Pace(64)
    pace.answered(pace.sent(0, 1), 2.0)
    assert pace.rest == 2.0
    for number in range(2000):  # a minute that is used up says nothing of the next
        pace.refused(pace.sent(number, 8))
    assert (pace.limit, pace.rest) == (FLOOR, 2.0)
    for number in range(2000, 4000):
        mark = pace.sent(number, 8)
        pace.refused(mark) if number % 8 else pace.answered(mark, 2.0)
    assert (pace.limit, pace.rest) == (FLOOR, 60.0)


def test_a_bound_that_is_set_lower_than_the_floor_holds():
    assert Pace(3).limit == 3
