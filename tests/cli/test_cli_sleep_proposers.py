"""The proposer of a night is named with the reason, before, during and after it."""

from cli_said import Captured, data, said
from small_night import Small

AUTO = ("--sleep.proposer", "auto")
UNTRIED = "auto: no night with a decision has tried it"


def test_the_proposer_is_named_wherever_a_night_is_told_of(sleeper: Small, capsys: Captured) -> None:
    assert f"proposer   rewrite: {UNTRIED}" in said(capsys, "dry-run", *AUTO)
    assert f"proposer  rewrite: {UNTRIED}" in said(capsys, "run", *AUTO)
    assert f"proposer  rewrite: {UNTRIED}" in said(capsys, "explain")
    assert f"proposer  night 1 rewrite: {UNTRIED}" in said(capsys, "status")
    assert f"proposer   contrast: {UNTRIED}" in said(capsys, "dry-run", *AUTO)
    told = {"name": "rewrite", "why": UNTRIED}
    assert data(capsys, "explain")["proposer"] == told
    assert [night["proposer"] for night in data(capsys, "status")["nights"]] == [told]
    assert data(capsys, "dry-run", *AUTO)["proposer"] == {"name": "contrast", "why": UNTRIED}


def test_where_nobody_asked_for_one_no_line_is_about_it(sleeper: Small, capsys: Captured) -> None:
    for verb in ("dry-run", "run", "explain", "status"):
        assert not [line for line in said(capsys, verb) if line.startswith("proposer")]
    assert data(capsys, "explain")["proposer"] == {"name": "rewrite", "why": ""}


def test_a_dry_run_foretells_what_the_proposer_costs(sleeper: Small, capsys: Captured) -> None:
    most = [
        data(capsys, "dry-run", *words)["forecast"]["target_calls"]["high"]
        for words in ([], ["--sleep.proposer", "contrast"], ["--train.attempts", "3"], ["--sleep.proposer", "prune"])
    ]
    assert most[0] < most[1] == most[2]
    assert most[3] > most[0]
