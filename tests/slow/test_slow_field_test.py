"""The field test over HTTP, to its end: stopped by its cap, resumed, and started again when it is done."""

from pathlib import Path

from etude.simulation.endpoint import running_endpoint
from test_field_test import KEY, result, run, stopped_by_the_cap, tells_nothing_private


def test_it_resumes_and_a_second_start_calls_nobody(tmp_path: Path) -> None:
    with running_endpoint(key=KEY) as endpoint:
        stopped_by_the_cap(tmp_path, endpoint)
        done = run(tmp_path, endpoint.url, "--calls", "5000", "--yes")
        assert done.returncode == 0, done.stderr
        found, stats = result(tmp_path), endpoint.stats()
        assert found["complete"]
        rows = found["sets"]["slips"]
        assert sum(sum(row["calls"].values()) for row in rows.values()) == stats["received"]
        assert all(row["test"]["n"] == 40 and row["simulated"] for row in rows.values())

        again = run(tmp_path, endpoint.url, "--calls", "5000", "--yes")
        assert (again.returncode, endpoint.stats()["received"]) == (0, stats["received"])
        assert result(tmp_path) == found
    tells_nothing_private(tmp_path, endpoint)
