"""What a rule says, whatever its marks and small words."""

import pytest

from etude.sleep.adoption.wording import KnownWords, bare, contrary, same

DOCUMENT = """\
# House rules

Be kind. Never commit to main; ask first.
All dates are written
as 2026-11-28.

- Always use pnpm.
* **Never** use `any`.
1. Add tests
   for each change.
- [x] _Sign_ each commit.
- You should do reviews in pairs.

| rule | why |
|---|---|
| Number the [pages](https://example.org/a). | they are many |

- Test runner: always use vitest.
- **Commit messages**: name the issue.
- **Line length:** 100 signs. Break at words.
- In tests: mock the clock.
- Bad: write a loop.

## Never

- skip a review
- guess a name

## Style

Don't:
- ask twice
- answer in rhymes

Sort imports.

- Not here:
  - wait for the clock
- **Release:**
  - tag the commit

<!-- Pin each version.
- Squash all commits.
-->
- ~~Rebase each branch.~~

<!-- etude:begin learned -->
- Name the customer first.
<!-- etude:end learned -->
"""


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("- Cite.", "Cite."),
        ("  * Cite.", "Cite."),
        ("12) Cite.", "Cite."),
        ("• Cite.", "Cite."),
        ("--force is never used", "--force is never used"),
        ("**Always** cite", "**Always** cite"),
        ("*Always* cite", "*Always* cite"),
        ("-1 is never an answer", "-1 is never an answer"),
        ("- --force is never used", "--force is never used"),
        ("+1 means yes", "+1 means yes"),
        ("3.5 is enough", "3.5 is enough"),
    ],
)
def test_a_mark_is_taken_off_as_a_mark(text: str, left: str) -> None:
    assert bare(text) == left


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("- Please always use pnpm!", True),
        ("Use pnpm", True),
        ("use PNPM, always", True),
        ("- Never use any.", True),
        ("Be kind.", True),
        ("Never commit to main. Be kind.", True),
        ("All dates are written as 2026-11-28.", True),
        ("Add tests for each change", True),
        ("Please always name the customer first!", True),
        ("Sign each commit", True),
        ("Please do reviews in pairs!", True),
        ("Always number the pages.", True),
        ("Do not commit to main.", True),
        ("You must not ever use any!", True),
        ("From now on we use pnpm.", True),
        ("Make sure you use pnpm, remember to sign each commit.", False),
        ("Remember to sign each commit.", True),
        ("Please use vitest!", True),
        ("Test runner: use vitest", True),
        ("Name the issue.", True),
        ("Break at words", True),
        ("Mock the clock", False),
        ("In tests, mock the clock.", True),
        ("Write a loop.", False),
        ("Skip a review.", False),
        ("Never skip a review.", True),
        ("Answer in rhymes", False),
        ("Do not answer in rhymes", True),
        ("Sort imports", True),
        ("Pin each version.", False),
        ("Squash all commits.", False),
        ("Rebase each branch.", False),
        ("Wait for the clock", False),
        ("Tag the commit.", True),
        ("Use npm.", False),
        ("Never use pnpm.", False),
        ("Use pnpm in every project.", False),
        ("Be kind. Be brief.", False),
        ("Tests for each change add", False),
    ],
)
def test_a_rule_that_stands_in_a_document_is_known(rule: str, says: bool) -> None:
    assert KnownWords([DOCUMENT]).says(rule) is says


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("Never use pnpm.", "Always use pnpm."),
        ("Do not use pnpm.", "Always use pnpm."),
        ("Use any.", "**Never** use `any`."),
        ("Sign no commit.", "_Sign_ each commit."),
        ("Guess a name.", "Never: guess a name"),
        ("Ask twice.", "Don't: ask twice"),
        ("Never use vitest.", "always use vitest."),
        ("Use pnpm.", ""),
        ("Never use npm.", ""),
    ],
)
def test_a_rule_that_says_no_to_a_line_is_shown_beside_it(rule: str, line: str) -> None:
    assert KnownWords([DOCUMENT]).against(rule) == line


def test_a_line_that_a_model_quotes_has_to_stand_there() -> None:
    known = KnownWords([DOCUMENT])
    assert known.line("- always use  pnpm.") == "Always use pnpm."
    assert known.line("Always use yarn.") == ""
    assert known.line(" ") == ""


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Use tabs instead of spaces", "Use spaces instead of tabs", False),
        ("- The title names a year.", "title names the year", True),
        ("Don't guess", "Do not guess", True),
        ("You can't push to main", "You cannot push to main", True),
        ("It won't do", "It will not do", True),
        ("You cannot guess", "Can not guess", True),
        ("Name a_b", "Name a b", False),
    ],
)
def test_rules_say_the_same_with_other_small_words(one: str, other: str, alike: bool) -> None:
    assert same(one, other) is alike
    assert not contrary(one, other)
