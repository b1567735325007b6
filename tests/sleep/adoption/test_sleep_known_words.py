"""What a rule says, whatever its marks and small words."""

from etude.envs.wording import bare, contrary, same
from etude.sleep.adoption.known_words import KnownWords
from rows import rows

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


@rows(
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


@rows(
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


@rows(
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


@rows(
    ("one", "other", "alike"),
    [
        ("Use tabs instead of spaces", "Use spaces instead of tabs", False),
        ("- The title names a year.", "title names the year", True),
        ("Don't guess", "Do not guess", True),
        ("Don't forget to run the tests", "Run the tests", True),
        ("You can't push to main", "You cannot push to main", True),
        ("It won't do", "It will not do", True),
        ("You cannot guess", "Can not guess", True),
        ("Name a_b", "Name a b", False),
    ],
)
def test_rules_say_the_same_with_other_small_words(one: str, other: str, alike: bool) -> None:
    assert same(one, other) is alike
    assert not contrary(one, other)


NOT_IN_FORCE = [
    ("$ use tabs\n", "Use tabs."),
    ("Start it:\n\n$ use tabs\n>>> use spaces\n", "Use spaces."),
    ("<details>\n<summary>Old</summary>\n\n- Use tabs.\n</details>\n", "Use tabs."),
    ("<details open><summary>Until v2</summary>\n\nUse tabs.\n\n</details>\n", "Use tabs."),
    ("## Style\n\n<details>\n  <summary>Rejected ideas</summary>\n\n* Use tabs.\n* Be kind.\n</details>", "Be kind."),
    ("```\nnever touch vendor\n```", "Never touch vendor."),
    ("Rules:\n\n~~~md\n- Always use pnpm\n~~~\n", "Always use pnpm."),
    ("- Do it so:\n  ```\n  never touch vendor\n  ```\n", "Never touch vendor."),
    ("Example:\n\n    never touch vendor\n\nMore.", "Never touch vendor."),
    ("Text.\n\n\tnever touch vendor\n", "Never touch vendor."),
    ("# Shop\n\n# Legacy app\n\n- Always use npm.\n", "Always use npm."),
    ("# Shop\n\n## How it was until 2024\n\nAlways use tabs.\n", "Always use tabs."),
    ("## History\n\n- Always squash.\n", "Always squash."),
    ("## What we were told in 2023\n\n- Always squash.\n", "Always squash."),
    ("## Changelog\n\n- Use vitest.\n", "Use vitest."),
    ("## Alternatives considered\n\n- Use yarn.\n", "Use yarn."),
    ("## Legacy\n\n### Tests\n\n- Use mocha.\n", "Use mocha."),
    ("Do not always use mocks.", "Never use mocks."),
    ("You don't always need a test.", "Never need a test."),
    ("Don't mock every class.\nNot all files need a header.", "No files need a header."),
    ("Colleague wrote: never touch vendor", "Never touch vendor."),
    ("- Bob said: always use yarn.", "Always use yarn."),
    ("The old README says: use npm.", "Use npm."),
    ("According to the docs: always use npm.", "Always use npm."),
    ("Anna suggested: be careful. Never touch vendor.", "Never touch vendor."),
    ("> Anna wrote:\n> never touch vendor", "Never touch vendor."),
    ("Should we always use pnpm?", "Always use pnpm."),
    ("Open: always use pnpm?", "Always use pnpm."),
    ("Example: commit to main. Never ask.", "Never ask."),
    ("| Don't | Do |\n|---|---|\n| use any | use unknown |", "Use any."),
    ("| good | bad |\n|:--|--:|\n| use unknown | use any |", "Use any."),
    ("## Drafts\n\nAlways use pnpm.", "Always use pnpm."),
    ("## What we did in 2023\n\n- Always squash.\n", "Always squash."),
    (
        "## Deprecated\n\n### Old build\n\n- Use make.\n\n### Tests\n\n- Use mocha.\n\n## Build\n\n- Use vite.\n",
        "Use make.",
    ),
    (
        "## Deprecated\n\n### Old build\n\n- Use make.\n\n### Tests\n\n- Use mocha.\n\n## Build\n\n- Use vite.\n",
        "Use mocha.",
    ),
    ("<example>\nAlways use npm.\n</example>", "Always use npm."),
    ("## Example\n\nAlways use npm.", "Always use npm."),
    ("## Bad\n\n- Use any.", "Use any."),
    ("My colleague said that you should never touch vendor.", "Never touch vendor."),
    ('"Never touch vendor" was an old rule.', "Never touch vendor."),
    ("Quote of the week: never touch vendor.", "Never touch vendor."),
    ("Feedback from Anna: always use tabs.", "Always use tabs."),
    ("Earlier we had: always use tabs.", "Always use tabs."),
    ("## v1 (2022)\n\n- Always use tabs.", "Always use tabs."),
    ("## Archive\n\n- Always use tabs.", "Always use tabs."),
    ("## Removed rules\n\n- Always use tabs.", "Always use tabs."),
    ("## No longer valid\n\n- Always use tabs.", "Always use tabs."),
    ("## Other projects\n\n- Always use tabs.", "Always use tabs."),
    ("1. Don't always squash.", "Never squash."),
    ("You need not always squash.", "Never squash."),
    ("The style guide of Google says: use tabs.", "Use tabs."),
    ("Wrong:\n\nUse tabs.", "Use tabs."),
    ("> Bob: never touch vendor", "Never touch vendor."),
    ("Is it right to always use tabs?", "Always use tabs."),
    ("Maybe: use tabs.", "Use tabs."),
    ("TODO: use tabs.", "Use tabs."),
    ("TODO use tabs.", "Use tabs."),
    ("- [ ] (idea) use tabs", "Use tabs."),
    ("Tests only: use mocks.", "Use mocks."),
    ("Not every time, but usually: use mocks.", "Use mocks."),
    ('Bob says "use tabs".', "Use tabs."),
    ("## Superseded by ADR 7\n\n- Use tabs.", "Use tabs."),
]
IN_FORCE = [
    ("## Conventions\n\n- Always use pnpm.\n", "Use pnpm."),
    ("# Legacy app\n\n- Use npm.\n\n# Shop\n\n- Always use pnpm.\n", "Always use pnpm."),
    ("Note: always use pnpm.", "Always use pnpm."),
    ("**Important:** never touch vendor.", "Never touch vendor."),
    ("> Always use pnpm.", "Always use pnpm."),
    ("> [!IMPORTANT]\n> Never touch vendor.", "Do not touch vendor."),
    ("- Run the tests so:\n  ```\n  pnpm test\n  ```\n", "Run the tests so:\n```\npnpm test\n```"),
    ("Run the tests so:\n```\npnpm test\n```\nNever touch vendor.\n", "Never touch vendor."),
    ("| rule |\n|---|\n| Always use pnpm |", "Always use pnpm."),
    ("| Don't | Do |\n|---|---|\n| use any | use unknown |", "Use unknown."),
    ("Do not always use mocks.", "Don't always use mocks."),
    ("We said: never touch vendor.", "Never touch vendor."),
    ("Users said they want short answers. Keep answers short.", "Keep answers short."),
    ("Why? Nobody knows. Always use pnpm.", "Always use pnpm."),
    ("- Do not use mocks.\n- Use fakes.", "Never use mocks."),
    ("Tests\n=====\n\nAlways use vitest.", "Always use vitest."),
    ("- Package manager: pnpm\n- Never touch vendor\n  or dist.", "Never touch vendor or dist."),
    ("## Rules\n\n1. Be kind.\n2. Be brief.\n", "Be brief."),
    ("## Historian service\n\n- Use UTC.\n", "Use UTC."),
    ("```\nx\n```\n\nAlways use pnpm.\n", "Always use pnpm."),
    ("Never touch `vendor`.", "Never touch vendor"),
    ("- [ ] Always use pnpm", "Please always use pnpm!"),
    ("- **Style:** Use tabs. Break at words.", "Break at words."),
    (
        "## Deprecated\n\n### Old build\n\n- Use make.\n\n### Tests\n\n- Use mocha.\n\n## Build\n\n- Use vite.\n",
        "Use vite.",
    ),
    ("## Build\n\n### Old build\n\n- Use make.\n\n## Tests\n\n- Use vitest.\n", "Use vitest."),
    ("## Git history\n\n- Always squash.\n", "Always squash."),
    ("## What was decided\n\n- Always squash.\n", "Always squash."),
    ("- Run `pnpm lint` first:\n  ```\n  pnpm lint\n  ```\n- Be kind.", "Be kind."),
    ("## Rules\n\nAlways:\n- use pnpm\n", "Use pnpm."),
    ("**Always use pnpm.**", "Use pnpm."),
    ("# CLAUDE.md\n\nThis file says what to do.\n\n## Build\n\nUse pnpm, always.", "Use pnpm always."),
    ("- Always use pnpm. (npm breaks the lock file)", "Always use pnpm."),
    ("Rule 1: never touch vendor.", "Never touch vendor."),
    ("IMPORTANT: never touch vendor!", "Never touch vendor."),
    ("⚠️ Never touch vendor.", "Never touch vendor."),
    ("You must NEVER touch vendor.", "Never touch vendor."),
    ("Use pnpm; never npm.", "Use pnpm."),
    ("| topic | rule |\n|--|--|\n| packages | Always use pnpm. |", "Always use pnpm."),
    ("Reviews\n-------\n\nReview in pairs.", "Review in pairs."),
    ("* * *\n\nReview in pairs.", "Review in pairs."),
    ("<rules>\nAlways use pnpm.\n</rules>", "Always use pnpm."),
    ("- Style\n  - Use tabs.\n  - Use single quotes.", "Use single quotes."),
    ("Please remember to always review in pairs.", "Review in pairs."),
    ("Make sure to use pnpm.", "Use pnpm."),
    ("Testing: Always use vitest. Mock the clock.", "Mock the clock."),
    ("What to do: use pnpm.", "Use pnpm."),
    ("History of the project: see docs.\n\nUse pnpm.", "Use pnpm."),
    ("Use tabs. Why? They are short.", "Use tabs."),
    ("Review in pairs.\r\nUse tabs.\r\n", "Use tabs."),
    ("## Never:\n\n- skip a review\n", "Never skip a review."),
    ("## Other rules\n\n- Use tabs.", "Use tabs."),
    ("<details>\n<summary>Style</summary>\n\n- Use tabs.\n\n</details>\n", "Use tabs."),
    ("- Always write services in C#\n", "Always write services in C#."),
    ("<details>\n<summary>Old</summary>\n\n- Use tabs.\n</details>\n\nUse spaces.\n", "Use spaces."),
    ("It costs:\n\n$5 a month.\n\nUse spaces.\n", "Use spaces."),
]


@rows(("document", "rule"), NOT_IN_FORCE)
def test_code_the_past_reports_and_questions_are_no_rules_of_a_document(document: str, rule: str) -> None:
    assert not KnownWords([document]).says(rule)


@rows(("document", "rule"), IN_FORCE)
def test_a_rule_stands_there_whatever_stands_beside_it(document: str, rule: str) -> None:
    assert KnownWords([document]).says(rule)


@rows(
    ("one", "other", "differ"),
    [
        ("Indent with 2 spaces.", "Always indent with 4 spaces.", True),
        ("Retry 3 times.", "Please retry five times!", True),
        (
            "Lines have at most 80 signs, and 2 of them are free.",
            "Lines have at most 100 signs, and 2 of them are free.",
            True,
        ),
        ("Use Python 3.11.", "Use Python 3.12.", True),
        ("Leave one blank line between functions.", "Leave two blank lines between functions.", True),
        ("A call takes at most 10s.", "A call takes at most 30s.", True),
        ("Retry 3 times.", "Retry three times.", False),
        ("Retry 3 times.", "Retry 3 times quickly.", False),
        ("Retry 3 times.", "Retry many times.", False),
        ("Never retry 3 times.", "Retry 4 times.", False),
        ("Step 1.", "Step 2.", False),
    ],
)
def test_rules_that_differ_in_a_number_contradict_each_other(one: str, other: str, differ: bool) -> None:
    assert contrary(one, other) is contrary(other, one) is differ
    assert KnownWords([f"# Rules\n\n- {one}\n"]).against(other) == (one if differ else "")
