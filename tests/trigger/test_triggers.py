"""Which skill is opened: requests, lists as programs cut them, judges, and the table."""

import asyncio
import json
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from etude.agents.program import ProgramAgent
from etude.agents.program_run import LATE, ProgramFailed
from etude.cli.main import main
from etude.cli.trigger import _lines, askable, of_files, of_skills
from etude.config import make_config
from etude.config.sections import AgentSection
from etude.errors import ConfigError, StopRun, TransientError
from etude.measure.triggers.catalogue import Bounds, described, entries, one_line, read_catalogue, shown
from etude.measure.triggers.environment import LEXICAL, Request, TriggerEnvironment
from etude.measure.triggers.judge import ProgramTriggerJudge, SkillsAtHand
from etude.measure.triggers.lexical import Ranking
from etude.measure.triggers.measure import Triggers, ameasure_triggers
from etude.records import ChatRequest, Message, Reply, Skill, Task, ToolCall, Trajectory
from etude.records.tasks import REFUSED, Ended
from etude.skill import Document
from etude.testing import ScriptedModel
from rows import rows

SKILLS = Path(__file__).parents[3] / "shared" / "data" / "skills"
real_skills = pytest.mark.skipif(not SKILLS.is_dir(), reason="the real skills are no part of this project")

DESCRIPTIONS = {
    "bake": "Use when the user wants to bake bread or a cake in an oven.",
    "sew": "Use when the user wants to sew or mend clothes with a needle.",
    "swim": "Use when the user wants to learn how to swim in open water.",
}
ASKED = [
    Request(id="r1", text="Bake me a cake", needs=("bake",)),
    Request(id="r2", text="Which needle for mending clothes?", needs=("sew",)),
    Request(id="r3", text="How warm is the water?", quiet="swim"),
    Request(id="r4", text="My bread is grey", needs=("bake", "sew")),
]


def folder_of_skills(place: Path) -> Path:
    """A folder with three skills, one of which has evals."""
    for name, description in DESCRIPTIONS.items():
        (place / name / "evals").mkdir(parents=True)
        (place / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n")
    rows = [
        {"id": 1, "prompt": "Bake me a cake", "expectations": ["there is a cake"]},
        {"id": 2, "prompt": "Sell my oven", "should_trigger": False},
        {"id": 3, "prompt": "Mend the needle case", "expected_skill": ["sew"]},
        {"id": 4, "prompt": "Knit a hat", "expected_skill": "knit"},
    ]
    (place / "bake" / "evals" / "evals.json").write_text(json.dumps({"skill_name": "bake", "evals": rows}))
    (place / "sew" / "evals" / "evals.json").write_text("[]")
    return place


def measured(
    folder: Path, target: ScriptedModel | None = None, own: str = "", by: AgentSection | None = None, trials: int = 1
) -> Triggers:
    config = make_config({"run": {"folder": str(folder), "name": "t"}, "limits": {"outage_seconds": 0.01}})
    shelf = SkillsAtHand(DESCRIPTIONS, own=own)
    chosen = by or (LEXICAL if target is None else AgentSection())
    given = {} if target is None else {"target": target}
    return asyncio.run(ameasure_triggers(config, ASKED, shelf, chosen, trials, **given))  # pyright: ignore


def test_rows_of_evals_say_which_skill_they_need_and_which_must_stay_quiet(tmp_path: Path) -> None:
    found = of_skills(sorted(folder_of_skills(tmp_path).iterdir()))
    kept = [(one.text, one.needs, one.quiet) for one in found]
    assert kept == [
        ("Bake me a cake", ("bake",), ""),
        ("Sell my oven", (), "bake"),
        ("Mend the needle case", ("sew",), ""),
        ("Knit a hat", ("knit",), ""),
    ]
    asked, notes = askable([*found, *found], DESCRIPTIONS)
    assert len(asked) == 3
    assert notes == ["1 request needs a skill that is not there, as 'knit': left out"]


@rows(
    ("request_", "opened", "right", "false"),
    [
        (ASKED[0], "bake", True, False),
        (ASKED[0], "", False, False),
        (ASKED[0], "sew", False, True),
        (ASKED[3], "sew", True, False),
        (ASKED[2], "swim", False, True),
        (ASKED[2], "bake", True, False),  # nobody said that this one must stay closed
        (Request(id="r", text="x"), "bake", False, True),
        (Request(id="r", text="x"), "", True, False),
    ],
)
def test_an_opened_skill_is_right_or_a_false_opening(
    request_: Request, opened: str, right: bool, false: bool
) -> None:
    assert (request_.is_right(opened), request_.is_false_opening(opened)) == (right, false)


def test_a_table_has_a_row_for_each_skill_and_totals(tmp_path: Path) -> None:
    found = measured(tmp_path)
    rows = {row.skill: row for row in found.skills}
    assert found.judge == "lexical"
    assert (found.opened and found.opened.mean, found.quiet and found.quiet.mean) == (1.0, 0.0)
    assert found.false_openings == 1
    assert (rows["sew"].opened and rows["sew"].opened.n, rows["bake"].instead) == (2, {})
    assert (rows["swim"].opened, rows["swim"].false_openings) == (None, 1)
    assert not found.simulated
    (row,) = measured(tmp_path, own="bake").skills  # with a skill under test only that one counts
    assert (row.opened and row.opened.n, row.quiet and row.quiet.n) == (2, 1)
    env = TriggerEnvironment({}, SkillsAtHand(DESCRIPTIONS, own="bake"), LEXICAL)
    made = [(ASKED[0], "bake"), (ASKED[0], "sew"), (ASKED[1], "swim"), (ASKED[1], "bake")]
    assert [env.score(one.task, Trajectory(answer=opened)).hard for one, opened in made] == [1, 0, 1, 0]


def test_a_chat_model_sees_the_list_and_is_not_asked_twice(tmp_path: Path) -> None:
    def choose(request: ChatRequest) -> str:
        asked = request.messages[-1].text
        return "`bake`" if "cake" in asked else "none" if "water" in asked else "I would look at `sew`.\n\nsew"

    model = ScriptedModel(choose)
    found = measured(tmp_path, model)
    assert (found.calls_sent, found.opened and found.opened.mean, found.false_openings) == (4, 1.0, 0)
    assert f"- bake: {DESCRIPTIONS['bake']}\n- sew: " in model.requests[0].messages[0].text
    assert all("r1" not in message.text for message in model.requests[0].messages)
    again = ScriptedModel([])
    again_found = measured(tmp_path, again)
    assert (again_found.calls_sent, again.requests, again_found.skills) == (0, [], found.skills)


@pytest.mark.parametrize(
    ("text", "finish", "right"),
    [
        ("the oven skill", "stop", 0),  # and that is no keeping quiet
        ("/bake", "stop", 3),  # as it is called in Claude Code
        ("$Bake.", "stop", 3),  # and in Codex
        ("<think>sew, or none?</think>bake", "stop", 3),
        ("<think>is it none?\nbake", "stop", 0),
        ("<think>is it none?\nnone", "length", 0),
        ("bake", "refusal", 0),
        ("", "stop", 0),
    ],
)
def test_a_reply_that_names_no_skill_opens_none_and_is_never_right(
    tmp_path: Path, text: str, finish: Any, right: int
) -> None:
    found = measured(tmp_path, ScriptedModel(lambda request: Reply(text=text, finish=finish)))
    assert (found.unreadable, sum(found.right.values())) == (0 if right else 4, right)
    quiet = [found.quiet, *(row.quiet for row in found.skills)]
    assert right or (found.false_openings, {one.mean for one in quiet if one}) == (0, {0.0})
    assert right or not any(row.instead for row in found.skills), "nobody knows that none was opened"
    silent = text in ("", "<think>is it none?\nbake")
    how = {"refusal": "refused", "length": "cut off"}.get(finish, "empty" if silent else "")
    assert found.ended == ({how: 4} if how else {})
    said = [line for line in _lines(found) if line.partition("  ")[0] in found.ended]
    assert len(said) == len(found.ended)


def test_a_call_that_failed_is_no_score(tmp_path: Path) -> None:
    with pytest.raises(StopRun, match="the server is away"):
        measured(tmp_path, ScriptedModel(lambda request: TransientError("the server is away")))


def test_only_chat_and_programs_can_open_a_skill() -> None:
    for name in ("tools", "command"):
        with pytest.raises(ConfigError, match=f"{name}' opens no skills"):
            TriggerEnvironment({}, SkillsAtHand(DESCRIPTIONS), AgentSection(name=name))


def test_claude_code_lists_all_names_and_then_whole_descriptions_that_fit() -> None:
    skills = {f"s{number:02}": "x" * 1000 for number in range(12)} | {"s99": "short", "s00": "y" * 1600}
    visible = shown(skills, "claude-code")
    assert [len(text) for text in visible.values()] == [1536, *[1000] * 6, *[0] * 5, 5]
    assert entries(visible, "claude-code")[-2:] == ["- s11", "- s99: short"]


def test_codex_cuts_all_descriptions_alike_and_leaves_out_what_does_not_fit() -> None:
    few = shown({f"s{number:02}": "x" * 2000 for number in range(3)}, "codex")
    assert [len(text) for text in few.values()] == [1024] * 3
    many = shown({f"s{number:03}": "x" * 1000 for number in range(100)} | {"z": "short"}, "codex")
    lengths = {len(text) for text in many.values()} - {5}
    assert max(lengths) - min(lengths) <= 8
    assert entries(many, "codex")[-1] == "- z: short (file: r0/z/SKILL.md)"
    hidden = shown({f"s{number:03}": "x" for number in range(1000)}, "codex")
    assert 300 < len(hidden) < 1000


def test_a_ranking_without_a_shared_word_names_nothing() -> None:
    assert Ranking(DESCRIPTIONS).first("Großmutter") == ""


@rows(
    ("text", "fault"),
    [
        (DESCRIPTIONS["bake"], ""),
        ("", "is empty"),
        ("Use it for cakes. " * 60, "at most 1,024"),
        ("bake, bread, cake, oven, dough, yeast, flour, sugar", "list of key words"),
        (f"{'Use it when you want to bake. ' * 9}{'dough yeast ' * 14}", "key words in a row"),
        (f"{'Use it when you want to bake. ' * 9}dough/yeast{'_flour-sugar.oven' * 9}", "key words in a row"),
        ("Dough and yeast and flour and sugar and oven and crust and loaf and crumb.", "list of key words"),
        ("The dough, the yeast, the flour, the sugar, the oven, the crust, the loaf.", "list of key words"),
        ("For dough. For yeast. For flour. For sugar. For the oven.", "list of key words"),
        ("Dough; Yeast; Flour; Sugar; Oven; Use it.", "list of key words"),
        ("Baker's dough, baker's yeast, it's flour, sugar’s crust, loaf, crumb", "list of key words"),
        ("DOUGH | YEAST | FLOUR | SUGAR | OVEN | CRUST | SALT | MILK | EGG | RYE | AND", "list of key words"),
        (f"Use it for dough{' or yeast or flour or sugar or oven' * 5}.", "list of key words"),
        (f"Use it when one bakes: {', '.join(f'dough {n}' for n in range(12))}.", "key words in a row"),
        ("Knead, proof, fold and bake the dough of a loaf, with the crust in view.", ""),
    ],
)
def test_a_description_stays_prose_of_a_limited_length(text: str, fault: str) -> None:
    found = Bounds.beside(DESCRIPTIONS["sew"]).fault(one_line(text))
    assert fault in found if fault else not found


def test_descriptions_are_a_document_with_a_sentence_a_line_and_keep_to_their_own_rule_in_any_language() -> None:
    text = "Bake bread, e.g. rye.  Use when\nthere is dough! Not for cakes."
    german = "Brot und Kuchen backen, Teig kneten, Hefe ansetzen: für alle Fragen rund um den Ofen."
    rule = described({"bake": text, "ofen": german})
    lines = rule.text({"bake": text, "ofen": german})
    said = ["Bake bread, e.g. rye.", "Use when there is dough!", "Not for cakes."]
    assert lines.splitlines() == ["## bake", "", *said, "", "## ofen", "", german]
    assert rule.read(lines) == {"bake": " ".join(text.split()), "ofen": german}
    assert rule.bounds["ofen"].fault(german) == ""


@pytest.mark.slow
@real_skills
def test_the_floor_on_real_skills_is_where_it_is_known_to_be() -> None:
    skills = read_catalogue(SKILLS)
    asked, _ = askable(of_skills(path.parent for path in sorted(SKILLS.glob("*/SKILL.md"))), skills)
    needing = [one for one in asked if one.needs]
    bodies = {name: Document.parse((SKILLS / name / "SKILL.md").read_text()).body for name in skills}

    def share(texts: Callable[[str], str]) -> float:
        ranking = Ranking({name: texts(name) for name in skills})
        return sum(one.is_right(ranking.first(one.text)) for one in needing) / len(needing)

    assert (len(skills), len(needing), len(asked) - len(needing)) == (343, 626, 154)
    assert share(skills.__getitem__) == pytest.approx(0.61, abs=0.03)
    assert share(bodies.__getitem__) == pytest.approx(0.76, abs=0.03)
    assert share(lambda name: skills[name][:23]) == pytest.approx(0.14, abs=0.03)
    # Claude Code with 200,000 tokens: the names alone fill the list.
    assert not any(shown(skills, "claude-code").values())


def test_the_command_prints_a_table_and_the_same_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder_of_skills(tmp_path / "skills").parent)
    assert main(["trigger", "skills", "--lexical"]) == 0
    out, err = capsys.readouterr()
    assert "no model is called" in err
    assert [line.split()[0] for line in out.splitlines()[3:7]] == ["skill", "bake", "sew", "all"]
    assert main(["trigger", "skills/bake", "--lexical", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["skill"] for row in found["skills"]] == ["bake"]
    assert found["of"] == 3


def test_where_no_reply_can_be_read_there_is_no_table_of_zeros(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder_of_skills(tmp_path / "skills").parent)
    Path("etude.yaml").write_text("target: {model: 'simulated:target'}\n")  # it knows nothing of lists of skills
    assert main(["trigger", "skills"]) == 1
    out, err = capsys.readouterr()
    assert "not one of 3 replies names a skill of the list or says none" in err
    assert "opened" not in out


def test_a_file_of_requests_need_not_name_the_skill_that_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder_of_skills(tmp_path / "skills").parent)
    rows = [
        ("Swim far", "true", ""),
        ("Sell a boat", "FALSE", ""),
        ("Swim or sew", "", "sew"),
        ("Dive", "yes", "none"),
    ]
    lines = [",".join(row) for row in (("query", "Should Trigger", "expected skill"), *rows)]
    Path("asked.csv").write_text("\n".join(lines) + "\n")
    assert [(one.needs, one.quiet) for one in of_files(["asked.csv"], "swim")] == [
        (("swim",), ""),
        ((), "swim"),
        (("sew",), ""),
        (("swim",), ""),
    ]
    assert main(["trigger", "skills/swim", "--lexical", "--requests", "asked.csv", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["skills"]
    assert (row["opened"]["n"], row["quiet"]["n"]) == (2, 4)  # with those of neighbours, which share no word with it
    assert main(["trigger", "skills", "--lexical", "--requests", "asked.csv"]) == 2
    assert "it does not say which skill it needs" in capsys.readouterr().err


def test_requests_in_two_lists_are_read_as_one(tmp_path: Path) -> None:
    yaml = "skill: swim\nshould_trigger_prompts: [{prompt: Swim far, reason: water, confidence: high}, Dive]\n"
    (tmp_path / "trigger_tests.yaml").write_text(f"{yaml}should_not_trigger_prompts: [{{prompt: Sell a boat}}]\n")
    (tmp_path / "asked.json").write_text(
        '{"shouldTrigger": ["Swim far", "Dive"], "shouldNotTrigger": ["Sell a boat"]}'
    )
    for name in ("trigger_tests.yaml", "asked.json"):
        found = of_files([str(tmp_path / name)], "swim")
        assert [(one.text, one.needs, one.quiet) for one in found] == [
            ("Swim far", ("swim",), ""),
            ("Dive", ("swim",), ""),
            ("Sell a boat", (), "swim"),
        ]


def test_a_skill_without_a_description_is_not_said_to_lack_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder_of_skills(tmp_path / "skills").parent)
    Path("skills", "bake", "SKILL.md").write_text("---\nname: bake\n---\n")
    assert main(["trigger", "skills", "--lexical"]) == 0
    assert "hidden   bake: they have no description, or the list has no room for it" in capsys.readouterr().out


def test_a_neighbour_that_cannot_be_read_is_named_and_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder_of_skills(tmp_path / "skills").parent)
    Path("skills", "swim", "SKILL.md").write_text("---\nname: [\n---\n")
    Path("skills", "sew", "evals", "evals.json").write_text("{")
    for place, named in (("skills/bake", ["bake"]), ("skills", ["bake", "sew"])):
        assert main(["trigger", place, "--lexical", "--json"]) == 0
        out, err = capsys.readouterr()
        assert [row["skill"] for row in json.loads(out)["skills"]] == named
        assert [err.count(part) for part in ("passed over: ", "swim/SKILL.md", "sew/evals")] == [2, 1, 1], err
    assert main(["trigger", "skills/sew", "--lexical"]) == 2  # of the skill that is asked for nothing is passed over
    assert "not JSON" in capsys.readouterr().err


def test_requests_of_files_with_one_name_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file is often called like the skill, whose own evals count from one as well."""
    monkeypatch.chdir(folder_of_skills(tmp_path / "skills").parent)
    for place, asked in (("a", "Bake rolls"), ("b", "Bake a pie")):
        Path(place).mkdir()
        Path(place, "bake.jsonl").write_text(f'{{"prompt": "{asked}", "expected_skill": "bake"}}\n')
    words = ["trigger", "skills/bake", "--lexical", "--json"]
    assert main(words) == 0
    before = json.loads(capsys.readouterr().out)
    assert main([*words, "--requests", "a/bake.jsonl", "--requests", "b/bake.jsonl"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["skills"][0]["opened"]["n"] == before["skills"][0]["opened"]["n"] + 2
    assert len(found["right"]) == found["requests"]


@rows(
    ("failure", "ended", "calls", "opened", "fails"),
    [
        (f"{LATE} = 3", None, "Skill", "bake", False),
        (f"{LATE} = 3", None, "", None, True),
        ("step limit: not done within agent.max_steps = 4", None, "", "", False),
        (REFUSED, "refused", "", "", True),
        ("", "cut off", "", "", True),
        ("the reply was empty", "empty", "", "", True),
        ("the reply was empty", "empty", "Bash", "", False),  # it began to work without a skill
        (REFUSED, "refused", "Skill", "bake", False),
    ],
)
def test_a_program_that_decided_nothing_opened_none_and_kept_none_closed(
    failure: str, ended: Ended | None, calls: str, opened: str | None, fails: bool
) -> None:
    class Program(ProgramAgent):
        name = "claude-code"

        def __init__(self) -> None:
            pass

        async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
            call = ToolCall(id="1", name=calls, arguments='{"skill": "bake"}')
            said = (Message(role="assistant", content=(), tool_calls=(call,)),) if calls else ()
            return Trajectory(messages=said, failure=failure, ended=ended)

    judge = ProgramTriggerJudge(SkillsAtHand(DESCRIPTIONS), Program())
    with nullcontext() if opened is not None else pytest.raises(ProgramFailed, match="no skill was opened by then"):
        made = asyncio.run(judge.attempt(ASKED[0].task, Skill(text=""), 0))
        assert (made.answer, bool(made.failure), made.ended) == (opened, fails, ended if fails else None)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("nowhere --lexical", "skill 'nowhere' does not exist"),
        (". --lexical", "is no skill and holds none"),
        ("broken --lexical", "'broken/bake/SKILL.md' cannot be read"),
        ("skills/swim --lexical --requests odd.jsonl", "odd.jsonl:2: should_trigger = 'off' says neither"),
        ("twins --lexical", "two skills in 'twins' are called 'bake': 'one' and 'two'"),
        ("skills/swim --lexical --among skills/swim", "holds no skill folders"),
        ("skills/swim --lexical --requests none.jsonl", "none.jsonl"),
        ("skills/swim --lexical --requests bad.jsonl", "it does not say which skill it needs"),
        ("skills/bake --lexical --requests skills/bake/evals/none", "'skills/bake/evals/none' does not exist"),
        ("skills/bake --lexical --requests twins", "'twins' holds no data file"),
        ("skills/swim --lexical --trials 0", "is not a whole number from 1 on"),
        ("skills/bake", "no CONFIG was given"),
        ("skills/bake", "; --lexical measures without one"),
        ("skills/bake --lexical --train", "; --train needs its optimizer"),
    ],
)
def test_what_cannot_be_measured_is_said_before_anything_is_asked(
    words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder_of_skills(tmp_path / "skills")
    for name in ("one", "two"):
        shutil.copytree(tmp_path / "skills" / "bake", tmp_path / "twins" / name)
    (tmp_path / "broken" / "bake").mkdir(parents=True)
    (tmp_path / "broken" / "bake" / "SKILL.md").write_text("---\nname: bake\n")
    (tmp_path / "bad.jsonl").write_text('{"prompt": "Swim"}\n')
    (tmp_path / "odd.jsonl").write_text(
        '{"prompt": "a", "should_trigger": true}\n{"prompt": "b", "should_trigger": "off"}\n'
    )
    monkeypatch.chdir(tmp_path)
    assert main(["trigger", *words.split()]) == 2
    assert said in capsys.readouterr().err
