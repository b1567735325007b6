"""Which turns are worth something, and what a user said about an answer."""

import pytest

from skillgrad.prompts import Prompts, prompt_names
from skillgrad.sleep.cleaning import OWN, cleaned, feedback, left_out
from skillgrad.sleep.sessions import Session, ToolUse, Turn


def session(*prompts: str) -> Session:
    return Session(source="plain", id="s", turns=tuple(Turn(prompt=each, answer="done") for each in prompts))


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("", "empty prompt"),
        (" \n\t", "empty prompt"),
        ("/clear", "command"),
        ("/model gpt high", "command"),
        ("<command-name>/init</command-name> and more", "command"),
        ("<local-command-stdout></local-command-stdout>", "command"),
        ("[Pasted text #1 +20 lines]", "pasted"),
        ("[Image #1] [Pasted text #2 +3 lines]\n", "pasted"),
        ("[Request interrupted by user for tool use]", "notice"),
        ("Caveat: The messages below were generated", "notice"),
        ("<system-reminder>do this</system-reminder>", "tag block"),
        ('<a x="1">one</a>\n<b/>\n<c>two <d> three</c>', "tag block"),
        (f"{OWN}\n\nDo this.", "own prompt"),
    ],
)
def test_what_no_user_said_is_left_out(prompt, reason):
    assert left_out(Turn(prompt=prompt)) == reason


@pytest.mark.parametrize(
    "prompt",
    [
        "hi",
        "/review the parser, it loses the last line",
        "/etc/hosts is broken",
        "[Pasted text #1 +20 lines] why does this fail?",
        "<b>make this bold</b> please",
        "<div> is not closed",
        "<a>x</b>",
        "is 1 < 2 and 3 > 2",
        f"what does {OWN!r} mean?",
        "Explain [1]",
    ],
)
def test_what_a_user_said_is_kept(prompt):
    assert left_out(Turn(prompt=prompt)) == ""


def test_left_out_turns_are_counted_by_reason():
    clean = cleaned(session("fix it", "/clear", "", "", "and test it"))
    assert clean.session is not None
    assert [turn.prompt for turn in clean.session.turns] == ["fix it", "and test it"]
    assert (clean.new, clean.skipped, clean.own) == (0, {"command": 1, "empty prompt": 2}, False)


def test_used_turns_are_context_and_are_not_counted_again():
    clean = cleaned(session("/clear", "one", "", "two"), seen=2)
    assert clean.session is not None
    assert [turn.prompt for turn in clean.session.turns] == ["one", "two"]
    assert (clean.new, clean.skipped) == (1, {"empty prompt": 1})


def test_a_session_without_new_turns_of_worth_is_none():
    assert cleaned(session()).session is None
    clean = cleaned(session("one", "/exit"), seen=1)
    assert (clean.session, clean.skipped, clean.own) == (None, {"command": 1}, False)


def test_sessions_of_skillgrad_are_told_by_the_line_in_their_prompts():
    for prompt in (f"{OWN}\nTask: x", f"Task: x\n  {OWN}  \n"):
        clean = cleaned(session(prompt, "more"))
        assert (clean.session, clean.skipped, clean.own) == (None, {"own": 1}, True)
    assert cleaned(session("<caveat>x</caveat>", f"{OWN}\nx")).own
    assert cleaned(session("fix it", f"{OWN}\nx")).skipped == {"own prompt": 1}


@pytest.mark.parametrize("name", prompt_names())
def test_sessions_of_skillgrad_are_told_by_its_prompts(name):
    prompt = Prompts()[name].replace("\n", "\n  ")
    assert cleaned(session(f"# Instructions\n\n{prompt}\n\nTask: add 1 and 1")).own


def test_sessions_of_observers_are_told_by_markers():
    observer = session("Hello memory agent, you are   continuing to observe the session")
    clean = cleaned(observer)
    assert (clean.session, clean.skipped, clean.own) == (None, {"observer": 1}, False)
    assert cleaned(observer, observers=()).session is not None
    assert cleaned(session("WATCH this for me"), observers=("watch this", " ")).skipped == {"observer": 1}
    assert cleaned(session("hello", "watch this"), observers=("watch this",)).session is not None


NEGATIVE = """
No, use tabs | no. that's the wrong file | Nope | No. Use spaces. | it still fails | Still broken | tests still fail
still failing with the same error | that's incorrect | The answer is incorrect | Incorrect. | That is not correct.
not correct | this doesn't work | It doesn’t work | That didn't work | doesn't work, sorry | not fixed | wrong file
you forgot the tests | you didn't add a test | I asked for JSON | I said use pnpm | That's not what I asked for
Thanks, but it still fails | Thanks, but the output should be sorted | great, but it does not compile | Try again
Perfect, except the header is missing | undo that | please undo your change | revert that please | Nothing changed
why did you delete the file? | why does it still fail? | hmm, no, I meant the other one | this is not great
the output is wrong: it prints 3 | your fix broke the build | It's still not working | I still get the error
great but it fails | Great, thanks. It still crashes though.
No that's not it | this isn't right | the script no longer works, it fails
"""
POSITIVE = """
Thanks! | thank you | great | Perfect, now add a test | that works | It works now | works great | correct | lgtm
Great, thanks. Now the login page is broken, fix it. | Yes, that's correct | looks good to me | Awesome work
exactly what I wanted | fixed, thanks | Thanks, now write docs | all tests pass now | perfect 👍 | nice job
"""
NEITHER = """
make the font greater | play the piano, please | add a login page | Is it correct? | does it work? | greater
correct the spelling in README | can you correct the typo | no problem, go on | No worries | no need for tests
what if it doesn't work? | make sure it doesn't crash | Great circle distance please | add a thank you page
Thanks, but can you also add docs? | Great, but now do the other file | what is right? | right-align the text
the button should say "no, thanks" | knowledge base, please | write a function that returns wrong answers
Revert commit abc123 on main | if it still fails, retry | the wrong passwords must be rejected | implement undo
explain why tests fail in CI | no idea, you decide | none | not sure | do not use the network in tests | `wrong`
```\\nthat is wrong\\n``` | > you forgot it\\nwhat does this mean | ok | ... | what's wrong with this code?
"""


def listed(text: str) -> list[str]:
    return [each.strip().replace("\\n", "\n") for line in text.strip().splitlines() for each in line.split(" | ")]


@pytest.mark.parametrize(
    ("prompt", "verdict"),
    [
        *((prompt, "negative") for prompt in listed(NEGATIVE)),
        *((prompt, "positive") for prompt in listed(POSITIVE)),
        *((prompt, None) for prompt in listed(NEITHER)),
    ],
)
def test_feedback_is_what_a_clause_says_about_the_answer(prompt, verdict):
    assert feedback(Turn(prompt="do it", answer="done"), Turn(prompt=prompt)) == verdict


def test_the_first_ask_and_the_end_of_a_session_are_no_feedback():
    ask = Turn(prompt="It is broken, fix it", answer="done")
    assert feedback(None, ask) is None
    assert feedback(ask, None) is None


def test_a_turn_in_which_the_agent_did_nothing_gets_no_feedback():
    wrong = Turn(prompt="that's wrong")
    assert feedback(Turn(prompt="x"), wrong) is None
    assert feedback(Turn(prompt="x", tools=(ToolUse(name="ls"),)), wrong) == "negative"
    assert feedback(Turn(prompt="x", interrupted=True), wrong) == "negative"


def test_only_the_beginning_of_a_long_prompt_tells_what_its_user_thinks():
    ask = Turn(prompt="x", answer="y")
    assert feedback(ask, Turn(prompt="add this page. " * 200 + "that's wrong")) is None
    assert feedback(ask, Turn(prompt="no" + "," * 1_000_000)) == "negative"
