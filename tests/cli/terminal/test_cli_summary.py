"""The summary of a run, for people."""

from etude.readable import fitted


def test_a_path_is_never_broken() -> None:
    path = "/".join(["folder"] * 20)
    assert fitted(f"best skill  {path}", 40) == [f"best skill  {path}"]
