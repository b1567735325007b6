"""Sessions lose their secrets at ingest."""

import json
from datetime import UTC, datetime

from etude.redaction import Redactor
from etude.sleep.transcripts.redaction import LONG_PROMPT, LONG_TEXT, redacted
from etude.sleep.transcripts.sessions import Session, ToolUse, Turn
from rows import rows

# Put together at run time, so that no scanner takes this file for a leak.
KEY = "sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4"
REDACTOR = Redactor.for_transcripts({"MY_TOKEN": "open-sesame-1"})


def session(**more) -> Session:
    return Session(source="plain", id="open-sesame-1", **more)


def test_every_text_of_a_session_passes_the_redactor():
    tool = ToolUse(name=f"tool {KEY}", arguments=f"echo {KEY}", result=f"said {KEY}", failed=True)
    turn = Turn(prompt=f"use {KEY}", at=datetime(2026, 1, 2, tzinfo=UTC), answer=f"used {KEY}", tools=(tool,))
    dirty = session(
        project=f"/home/{KEY}", turns=(turn, turn.model_copy(update={"interrupted": True})), skills=(f"the {KEY}",)
    )
    clean, counts = redacted(dirty, REDACTOR)
    assert "sk-" not in clean.model_dump_json()
    assert counts == {"api-key": 12} == {"api-key": clean.model_dump_json().count("[redacted:api-key]")}
    assert clean.id == "open-sesame-1"
    assert (clean.turns[0].at, clean.turns[1].interrupted) == (turn.at, True)
    assert clean.turns[0].tools[0].failed is True
    assert clean.turns[0].prompt == "use [redacted:api-key]"


def test_redacting_again_finds_nothing():
    once, counts = redacted(session(turns=(Turn(prompt="password: hunter2 from me@example.org"),)), REDACTOR)
    assert counts == {"password": 1, "email": 1}
    assert redacted(once, REDACTOR) == (once, {})


def test_a_session_without_secrets_stays_as_it_is():
    plain = session(project="/code/app", turns=(Turn(prompt="hello", tools=(ToolUse(name="x", arguments="{ }"),)),))
    assert redacted(plain, REDACTOR) == (plain, {})


def test_secrets_behind_the_escapes_of_json_are_found():
    arguments = json.dumps({"command": "export PASSWORD='a\"b\\c'\nls", "env": {"clientSecret": "é-12"}})
    tool = ToolUse(name="bash", arguments=arguments, result=json.dumps(["token=abc"]))
    clean, counts = redacted(session(turns=(Turn(prompt="x", tools=(tool,)),)), REDACTOR)
    assert json.loads(clean.turns[0].tools[0].arguments) == {
        "command": "export PASSWORD='[redacted:password]'\nls",
        "env": {"clientSecret": "[redacted:secret]"},
    }
    assert clean.turns[0].tools[0].result == '["token=[redacted:token]"]'
    assert counts == {"password": 1, "secret": 1, "token": 1}


@rows(
    ("arguments", "clean"),
    [
        (f'{{"a":"{KEY}","a":"x"}}', '{"a":"[redacted:api-key]","a":"x"}'),
        ('{"password":12345678901}', '{"password":[redacted:password]}'),
        ('["psql","--password","hunter2"]', '["psql", "--password", "[redacted:password]"]'),
        ('{"name":"DB_PASSWORD","value":"hunter2"}', '{"name": "DB_PASSWORD", "value": "[redacted:password]"}'),
        (f'{{"a":"{KEY}","password":12345678901}}', '{"a": "[redacted:api-key]", "password": [redacted:password]}'),
    ],
)
def test_json_loses_what_is_a_secret_as_data_and_what_is_one_as_text(arguments, clean):
    tool = ToolUse(name="x", arguments=arguments)
    without, counts = redacted(session(turns=(Turn(prompt="x", tools=(tool,)),)), REDACTOR)
    assert without.turns[0].tools[0].arguments == clean
    assert counts.total() == clean.count("[redacted:")
    assert redacted(without, REDACTOR) == (without, {})


def test_text_that_only_begins_like_json_is_redacted_as_text():
    for arguments in ('{"password": "hunter2", "x": [... 9 characters left out ...]', "[" * 20_000 + " pwd=hunter2"):
        tool = ToolUse(name="x", arguments=arguments)
        clean, counts = redacted(session(turns=(Turn(prompt="x", tools=(tool,)),)), REDACTOR)
        assert counts == {"password": 1}
        assert "hunter2" not in clean.turns[0].tools[0].arguments


def test_halves_of_surrogate_pairs_are_replaced_and_pairs_made_whole():
    tool = ToolUse(name="x", arguments='{"a": "\\ud800 pwd=abc"}', result="[\udc00]")
    clean, counts = redacted(session(turns=(Turn(prompt="a\ud83d\ude00b\ud800c", tools=(tool,)),)), REDACTOR)
    assert clean.turns[0].prompt == "a😀b\ufffdc"
    assert clean.turns[0].tools[0].arguments == '{"a": "\ufffd pwd=[redacted:password]"}'
    assert clean.turns[0].tools[0].result == "[\ufffd]"
    assert counts == {"password": 1}


def test_long_data_of_tools_loses_its_secrets_before_it_is_cut():
    arguments = json.dumps({"name": "DB_PASSWORD", "lines": [f"x\n{KEY}"] * 5 + ["more"] * 3000, "value": "hunter2"})
    tool = ToolUse(name="x", arguments=arguments, result=arguments)
    clean, counts = redacted(session(turns=(Turn(prompt="x", tools=(tool,)),)), REDACTOR)
    (used,) = clean.turns[0].tools
    assert counts == {"api-key": 10, "password": 2}
    assert used.arguments == used.result
    assert len(arguments) > LONG_TEXT + 100 > len(used.arguments)
    assert used.arguments.endswith('"value": "[redacted:password]"}')


def test_what_is_said_at_length_is_cut_and_the_halves_of_a_secret_at_the_cut_go():
    said = "a " * (LONG_PROMPT // 4 - 5) + KEY + " b" * LONG_PROMPT
    clean, counts = redacted(session(turns=(Turn(prompt=said, answer=said),)), REDACTOR)
    for cut in (clean.turns[0].prompt, clean.turns[0].answer):
        assert len(cut) < LONG_PROMPT + 100
        assert "sk-a1" not in cut
        assert "characters left out" in cut
    assert counts == {"cut-secret": 2}
