"""What trackers cannot do to a run: stop it, slow it, or learn a key."""

import sys
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tracked_run import train

from etude.connect import Ending, Point, TrackedRun, Tracker
from etude.connect.tracker import WAITING, Worker
from etude.errors import ConfigError
from etude.events import Event, Notice, RunFinished
from etude.simulation import SEED_SKILL

HELD = threading.Event()
"""Set when a test is over: threads that hang may end."""


class Bad(Tracker):
    """Does what it is told to where it is told to."""

    name: ClassVar[str] = "bad"
    patience = 0.2

    def __init__(self, where: str, what: Any) -> None:
        self._where, self._what = where, what
        self.points = 0
        self.states: list[str] = []

    def begin(self, run: TrackedRun) -> bool:
        self._harm("begin")
        return False

    def point(self, point: Point) -> None:
        self.points += 1
        self._harm("point")

    def end(self, ending: Ending) -> None:
        self.states.append(ending.state)
        self._harm("end")

    def _harm(self, where: str) -> None:
        if where == self._where:
            self._what()


class Listener:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)

    @property
    def warnings(self) -> list[Notice]:
        return [event for event in self.events if isinstance(event, Notice) and "tracker" in event.text]


def fail() -> None:
    raise ConnectionError("no route; key sk-proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3")


def leave() -> None:
    raise SystemExit(3)


def hang() -> None:
    HELD.wait(30)


@pytest.fixture(autouse=True)
def released() -> Any:
    HELD.clear()
    yield
    HELD.set()


@pytest.mark.parametrize(
    ("where", "what"),
    [("begin", fail), ("point", fail), ("end", fail), ("begin", hang), ("end", hang), ("point", leave)],
)
def test_whatever_a_tracker_does_the_run_has_its_result_and_one_warning(
    tmp_path: Path, where: str, what: Any
) -> None:
    listener, tracker = Listener(), Bad(where, what)
    summary = train(tmp_path, tracker, listener)
    assert (summary.steps, summary.stopped) == (1, None)
    assert summary.verdict is not None
    (warning,) = listener.warnings
    assert warning.text.startswith("tracker 'bad' ")
    assert "sk-proj" not in warning.text
    assert warning.hint
    if what is hang:  # the run was over before anything was waited for
        assert [type(event) for event in listener.events[-2:]] == [RunFinished, Notice]
    if where == "point":  # what fails once is not the end of the rest
        assert tracker.points > 1
        assert tracker.states == ["finished"]


def test_a_run_that_an_error_ends_has_failed(tmp_path: Path) -> None:
    class Broken:
        def emit(self, event: Event) -> None:
            if event.kind == "decided":
                raise RuntimeError("a sink must not raise")

    tracker = Bad("", None)
    with pytest.raises(RuntimeError):
        train(tmp_path, tracker, Broken())
    assert tracker.states == ["failed"]


def test_what_waits_is_bounded_and_what_comes_last_is_still_done() -> None:
    told: list[tuple[str, str]] = []
    done: list[int] = []
    worker = Worker("slow", hang, lambda *words: told.append(words))
    for number in range(2 * WAITING):
        worker.put(lambda number=number: done.append(number))
    worker.finish(lambda: done.append(-1))
    assert [what for what, _ in told] == ["tracker 'slow' does not keep up"]
    HELD.set()
    worker.wait(10)
    assert done == [*range(WAITING), -1]


class Lacking(Bad):
    name: ClassVar[str] = "lacking"
    needs = ("no_such_package.inside",)
    extra = "wandb"

    def __init__(self) -> None:
        super().__init__("", None)


@pytest.mark.parametrize("as_object", [True, False])
def test_a_missing_package_is_an_error_before_the_run_folder_exists(tmp_path: Path, as_object: bool) -> None:
    given = {} if as_object else {"report_to": [f"{__name__}:Lacking"]}
    with pytest.raises(ConfigError) as caught:
        train(tmp_path, *([Lacking()] if as_object else []), **given)
    assert caught.value.message == (
        "tracker 'lacking' needs the package of 'no_such_package.inside', which is not installed"
    )
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("pip install ")
    assert "[wandb]" in caught.value.hint
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"halfway/__init__.py": "import its_second_package"}, "needs the package of 'its_second_package', which is"),
        ({"halfway/__init__.py": "", "halfway/run.txt": ""}, ""),
        ({"halfway/run-1/log.txt": ""}, "needs the package of 'halfway', which is not installed"),
        (
            {"halfway.py": "raise AttributeError('built for another numpy')"},
            "cannot be imported: AttributeError: built",
        ),
    ],
)
def test_a_package_that_is_there_in_part_is_an_error_as_well(files, message, tmp_path, monkeypatch) -> None:
    class Halfway(Lacking):
        name: ClassVar[str] = "halfway"
        needs = ("halfway",)

    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        if not message:
            Halfway().check()
            return
        with pytest.raises(ConfigError) as caught:
            Halfway().check()
    finally:
        sys.modules.pop("halfway", None)
    assert message in caught.value.message
    assert "[wandb]" in caught.value.hint


class Told(Bad):
    """Named in settings. Keeps what it was told of last."""

    name: ClassVar[str] = "told"
    last: ClassVar[list[Any]] = []

    def __init__(self) -> None:
        super().__init__("", None)
        self.last.clear()

    def begin(self, run: TrackedRun) -> bool:
        self.last.append(run)
        return False

    def point(self, point: Point) -> None:
        self.last.append(point)

    def end(self, ending: Ending) -> None:
        self.last.append(ending)


def test_a_tracker_of_the_settings_hears_the_run_and_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SERVICE_TOKEN", "quite-plain-words-2026")
    text = f"{SEED_SKILL}\nSay quite-plain-words-2026 and Bearer abcdefghijklmnop1234567890.\n"
    summary = train(
        tmp_path,
        text=text,
        report_to=[f"{__name__}:Told"],
        reflect={"preferences": "As quite-plain-words-2026 does."},
        search={"gate": False},
    )
    run, *points, ending = Told.last
    assert run.flat["reflect.preferences"] == "As [redacted:SOME_SERVICE_TOKEN] does."
    (skill,) = [point.skill for point in points if point.skill]
    assert "[redacted:SOME_SERVICE_TOKEN]" in skill
    assert "abcdefghijklmnop1234567890" not in skill
    assert ending.values["final/target_calls"] == summary.cost.target_calls == points[-1].target_calls
    assert "quite-plain-words-2026" not in repr(Told.last)
