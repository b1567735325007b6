"""Rules that a program runs, or takes for the name of a file to read, while it loads them."""

import pytest

from etude.sleep.adoption.lint import barred, lint


@pytest.mark.parametrize(
    "text",
    [
        "- The branch is !`status --short`.",
        "- State of things: !`setup`",
        "- !`tools/x`",
        "- (!`hostname`)",
        "- **!`env`**",
        "- Never write !`tools/x`.",
        "- As of !{state of the tree}.",
        "- Shown below:\n  ```!\n  thing\n  ```",
        "- Shown below:\n  ~~~ !\n  thing\n  ~~~",
    ],
)
def test_what_a_program_runs_as_it_loads_a_rule_is_not_proposed(text: str) -> None:
    assert {finding.kind for finding in barred(text)} == {"command"}
    assert lint(text)


@pytest.mark.parametrize(
    "text",
    [
        "- Keep to the style in @guides/house.md.",
        "- @style is the guide.",
        "- Names: @~/names",
        "- Names (@./names)",
        "- Name @bob as the reader.",
        "- Write `yes!`and `no`.",
        "- Close with `poweroff`.",
        "- Close with ` reboot `.",
        "- Begin with `wipe`.",
    ],
)
def test_what_a_program_may_read_or_run_waits_for_a_person(text: str) -> None:
    assert lint(text)
    assert barred(text) == ()


@pytest.mark.parametrize(
    "text", ["- Write `not x` and not `!x`.", "- Begin with a title! Then give `x`.", "- Put `!` in no title."]
)
def test_a_mark_of_exclamation_is_no_order(text: str) -> None:
    assert lint(text) == ()
