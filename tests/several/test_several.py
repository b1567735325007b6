"""A folder of skills, each against none on its own tasks: verdicts that hold over the table, limits, refusals."""

import asyncio
import json
import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from etude.cli.main import main
from etude.config import make_config
from etude.envs import ListEnvironment
from etude.errors import BudgetStop, ConfigError, DataError, RejectedRequest, VoidStop
from etude.intervals import Arms, discoveries, permutation
from etude.measure.several import WRONG, SkillRow, SkillTable, Suite, acheck_suites, ameasure_skills, held, leaning
from etude.records import ChatRequest, Skill
from etude.stages.shared.contest import Claim, raced, wealth
from etude.testing import ScriptedModel
from rows import few, rows

Captured = pytest.CaptureFixture[str]


@rows(
    ("ps", "real"),
    [
        ([], ""),
        ([0.11], "n"),
        ([0.10], "y"),
        ([0.06, 0.2], "nn"),
        ([0.09, 0.06], "yy"),  # the second holds, so the first does
        ([0.04, 1.0, 0.08, 0.06], "nnnn"),
        ([0.07, 1.0, 0.08, 0.06], "nnnn"),
        ([0.07, 1.0, 0.06, 0.05], "ynyy"),
    ],
)
def test_a_result_is_held_to_its_rank_in_the_table(ps: list[float], real: str) -> None:
    assert "".join("ny"[each] for each in discoveries(ps, 0.10)) == real


def by_permutation(draw: random.Random, low: float, high: float) -> SkillRow:
    """A row of ten tasks with three trials, of which each passes with these probabilities without and with."""
    arms = [Arms(*([float(draw.random() < p) for _ in range(3)] for p in (low, high))) for _ in range(10)]
    return leaning("", permutation(arms), permutation([Arms(one.after, one.before) for one in arms]))


def by_bets(draw: random.Random, low: float, high: float) -> SkillRow:
    """The same of a race over at most 40 tasks, which ends once it is sure."""
    gains = [(draw.random() < high) - float(draw.random() < low) for _ in range(40)]
    won = [1 / max([1.0, *wealth(each)]) for each in (gains, [-gain for gain in gains])]
    return leaning("", *won)


@pytest.mark.parametrize(
    ("row", "helpful"), few(product((by_permutation, by_bets), (0, 6)), (by_permutation, 6), (by_bets, 0))
)
def test_of_the_verdicts_of_a_table_few_are_wrong(row: Any, helpful: int) -> None:
    draw, wrong, alone, right = random.Random(41), list[float](), list[float](), list[float]()
    for _ in range(80):
        base = [draw.choice((0.2, 0.5, 0.8)) for _ in range(12)]
        rows = [row(draw, 0.1, 0.9) if n < helpful else row(draw, p, p) for n, p in enumerate(base)]
        verdicts = [one.verdict for one in held(rows, len(rows))]
        false = sum(one != "not shown" for one in verdicts[helpful:])
        false += sum(one == "does not help" for one in verdicts[:helpful])
        wrong.append(false / max(1, sum(one != "not shown" for one in verdicts)))
        alone.append(float(any((one.p or 0) <= WRONG for one in rows[helpful:])))
        right.append(sum(one == "helps" for one in verdicts[:helpful]))
    assert fmean(wrong) <= WRONG
    assert fmean(right) >= 0.9 * helpful
    assert helpful or fmean(alone) > 2 * WRONG  # without the table, that is how often one is called good


def test_a_race_that_ends_early_has_a_verdict_whatever_the_others_come_to() -> None:
    gains, rows = [1.0] * 40, 20
    verdict, tried = raced(gains, Claim(0.0, WRONG / 2 / rows))
    row = leaning("", 1 / wealth(gains)[tried - 1], 1.0)
    assert (verdict, held([row], rows)[0].verdict) == ("ship", "helps")
    assert held([leaning("", 1 / wealth(gains)[tried - 2], 1.0)], rows)[0].verdict == "not shown"


# --- measured with a model that does what a skill says ---


def answer(request: ChatRequest) -> str | Exception:
    told, asked = (request.messages[place].text for place in (0, -1))
    if "stumble" in told and "3" in asked:
        return RejectedRequest("no answer")
    return "yes" if "say yes" in told else "no"


def suite(name: str, body: str, tasks: int = 12, gold: str = "yes") -> Suite:
    env = ListEnvironment((), (), [(f"{name} {n}", gold) for n in range(tasks)], scorer="exact")
    return Suite(name, Skill(name=name, text=body), lambda judge: env)


SUITES = [
    suite("useful", "say yes"),
    Suite("bare", problem="it has no evals/evals.json"),
    suite("idle", "say nothing new"),
    suite("harmful", "say yes", gold="no"),
]


def table(folder: Path, suites: Sequence[Suite] = SUITES, margin: float | None = None, **limits: Any) -> SkillTable:
    config = make_config(
        {"run": {"folder": str(folder), "name": "t"}, "limits": {"outage_seconds": 0.01, "concurrency": 1, **limits}}
    )
    target = ScriptedModel(answer)

    async def measured() -> SkillTable:
        checked = await acheck_suites(config, suites, target=target)
        assert not target.requests
        return await ameasure_skills(config, checked, 1, margin, target=target)

    return asyncio.run(measured())


def verdicts(found: SkillTable) -> dict[str, str]:
    return {row.skill: row.verdict for row in found.rows}


WORTH = {"useful": "helps", "bare": "not measured", "idle": "not shown", "harmful": "does not help"}


@pytest.mark.parametrize(("margin", "calls"), [(None, 72), (0.0, 72)])
def test_each_skill_is_measured_on_its_own_tasks_and_nothing_is_asked_twice(
    tmp_path: Path, margin: float | None, calls: int
) -> None:
    found = table(tmp_path, margin=margin)
    assert (verdicts(found), found.measurable, found.calls_sent) == (WORTH, 3, calls)
    again = table(tmp_path, margin=margin)
    assert (again.rows, again.calls_sent) == (found.rows, 0)
    first = found.rows[0]
    assert first.difference is not None
    assert (first.without, first.with_skill, first.difference.mean) == (0.0, 1.0, 1.0)


def test_a_limit_holds_for_all_and_leaves_the_rows_so_far(tmp_path: Path) -> None:
    with pytest.raises(BudgetStop) as stopped:
        table(tmp_path, calls=30)
    so_far = stopped.value.summary
    assert (verdicts(so_far), so_far.measurable) == ({**dict.fromkeys(WORTH, "not measured"), "useful": "helps"}, 3)
    assert so_far.rows[2].problem == "it was not finished"
    rest = table(tmp_path)
    assert (verdicts(rest), rest.calls_sent) == (WORTH, 72 - 30)


def test_what_fails_is_no_score_and_ends_its_row_alone(tmp_path: Path) -> None:
    found = table(tmp_path, [suite("clumsy", "stumble"), *SUITES])
    assert verdicts(found) == {"clumsy": "not measured", **WORTH}
    assert (found.rows[0].p, found.measurable) == (None, 4)
    assert "test attempts errored" in found.rows[0].problem
    with pytest.raises(VoidStop, match="attempts errored"):  # where all rows fail, so does the table
        table(tmp_path / "alone", [suite("clumsy", "stumble")])


def test_where_no_skill_can_be_measured_that_is_an_error(tmp_path: Path) -> None:
    def broken(judge: object) -> ListEnvironment:
        raise ConfigError("there is no judge")

    with pytest.raises(DataError, match=r"no skill can be measured: it has no evals/evals\.json; there is no judge"):
        table(tmp_path, [SUITES[1], Suite("judged", SUITES[0].skill, broken)])
    assert not list(tmp_path.iterdir())


# --- typed ---


def write(name: str, body: str, evals: str | None) -> None:
    folder = Path("skills", name)
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Sums.\n---\n\n{body}\n")
    if evals is not None:
        (folder / "evals" / "evals.json").write_text(evals)


@pytest.fixture
def skills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with two skills that can be measured and five that cannot."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": n, "prompt": f"Say {n}.", "expected_output": str(n)} for n in range(6)]
    judged = [{"id": n, "prompt": f"Write about {n}.", "expectations": ["It is short."]} for n in range(5)]
    write("a-plain", "- Count.", json.dumps(rows))
    write("b-bare", "- Count.", None)
    write("c-broken", "- Count.", "{")
    write("d-empty", "# Only\n\n## headings", json.dumps(rows))
    write("e-judged", "- Be short.", json.dumps(judged))
    write("f-other", "- Count down.", json.dumps(rows))
    write("g-trained", "- Count up.", json.dumps(rows))
    for name in ("b-bare", "g-trained"):
        Path("skills", name, "provenance.json").write_text("{}")
    Path("etude.yaml").write_text("target: {model: 'simulated:target'}\n")


def test_a_folder_makes_a_table_in_which_each_row_says_what_is_wrong(skills: None, capsys: Captured) -> None:
    assert main(["evaluate", "--skill", "skills", "--trials", "2", "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert [row["verdict"] == "not measured" for row in found["rows"]] == [False, True, True, True, True, False, True]
    assert all((row["without"] is None) is (row["p"] is None) for row in found["rows"])
    problems = [row["problem"] for row in found["rows"] if row["problem"]]
    parts = ("has no evals/evals.json", "not JSON", "is empty", "judge", "was trained")
    for problem, part in zip(problems, parts, strict=True):
        assert part in problem
    assert "2 skills with 12 tasks: at most 48 attempts, each one call of the target" in said.err
    assert found["calls_sent"] <= 48
    assert main(["evaluate", "--skill", "skills", "--trials", "2"]) == 0
    out = capsys.readouterr().out
    assert ["a-plain", "not", "shown"] in [line.split()[:3] for line in out.splitlines()]
    assert "verdicts    0 of 2, on just these tasks; on average at most 10% of them are wrong, over the" in out
    assert "calls       0 sent" in out
    assert main(["recheck", "skills", "--target", "simulated:target-steady"]) == 0
    assert "verdicts    0 of 2, on tasks like these; on average" in capsys.readouterr().out


SKILL_VERBS = [
    ["evaluate", "--skill", "{}"],
    ["compare", "none", "{}"],
    ["audit", "{}"],
    ["prune", "{}"],
    ["recheck", "{}", "--target", "simulated:target"],
    ["plan", "--skills", "{}"],
    ["trigger", "{}"],
]


@pytest.mark.parametrize("place", ["skills", "skills/a-plain"])
@pytest.mark.parametrize("words", SKILL_VERBS, ids=[words[0] for words in SKILL_VERBS])
def test_without_settings_the_way_begins_with_the_evals_of_a_skill_that_was_named(
    skills: None, capsys: Captured, words: list[str], place: str
) -> None:
    Path("etude.yaml").unlink()
    if words[0] in ("compare", "prune") and place == "skills":
        return  # they take one skill
    assert main([word.format(place) for word in words]) == 2
    assert "hint: `etude init --skill skills/a-plain` makes one, with the evals of this skill" in (
        capsys.readouterr().err
    )


def test_the_way_out_that_is_named_leads_to_the_table(skills: None, capsys: Captured) -> None:
    Path("etude.yaml").unlink()
    models = ["--target", "simulated:target", "--optimizer", "simulated:optimizer"]
    assert main(["init", "--skill", "skills/a-plain", *models]) == 0
    assert main(["evaluate", "--skill", "skills"]) == 0
    assert "a-plain" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["evaluate", "--skill", "skills"], ["audit", "skills"]])
def test_a_limit_prints_the_rows_so_far_and_how_to_go_on(skills: None, capsys: Captured, words: list[str]) -> None:
    assert main([*words, "--limits.calls", "13", "--json"]) == 3
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert (found["rows"][5]["problem"], found["calls_sent"], found["exit_code"]) == ("it was not finished", 13, 3)
    assert "resume (with a larger --limits.calls): " in said.err


def test_suites_of_a_folder_are_audited_in_one_table(skills: None, capsys: Captured) -> None:
    assert main(["audit", "skills", "--limits.calls", "30", "--json"]) == 3
    capsys.readouterr()
    assert main(["audit", "skills", "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["error"] == WRONG
    audited = {
        row["skill"]: [each["kind"] for each in row["findings"]] for row in found["rows"] if not row["problem"]
    }
    assert audited == {"a-plain": ["fails"] * 6, "f-other": ["fails"] * 6}
    assert 0 < found["calls_sent"] <= 12 * 10 - 30, "what was asked is not asked again"
    assert "2 skills: at most 120 attempts of the target" in said.err
    assert main(["audit", "skills"]) == 0
    out = capsys.readouterr().out
    assert ["a-plain", "6", "0", "0", "0", "0", "6"] in [line.split() for line in out.splitlines()]
    assert "calls     0 sent" in out
    assert "b-bare: it has no evals/evals.json" in out
    assert "d-empty: the skill is empty, or has headings only" in out
    assert "at most 10% of those that are named as passes or fails are changed by a version after all, over" in out
    assert main(["audit", "skills", "--label", "3"]) == 2


def test_where_the_settings_keep_all_skills_from_being_measured_the_hint_is_about_them(
    skills: None, capsys: Captured
) -> None:
    assert main(["recheck", "skills", "--target", "m2"]) == 2
    said = capsys.readouterr().err
    assert "error: no skill can be measured: model 'm2' names no known provider; " in said
    assert "hint: name its provider, too" in said


def test_a_plan_knows_what_a_folder_may_ask(skills: None, capsys: Captured) -> None:
    Path("skills", "b-bare", "evals", "evals.json").write_text("{")  # a neighbour that is passed over by triggers
    assert main(["plan", "--skills", "skills", "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert {name: count for name, count in found["tasks"].items() if count} == {"a-plain": 6, "f-other": 6}
    assert (found["requests"], len(found["problems"])) == (29, 5)
    assert said.err.count("passed over: ") == 2
    assert main(["plan", "--skills", "skills"]) == 0
    out = capsys.readouterr().out
    assert "evaluate, recheck  2 skills with 12 tasks: at most 24 attempts" in out
    assert "audit              at most 120 attempts" in out
    assert "trigger            at most 29 calls of simulated:target" in out
    assert [out.count(f"\n{verb} at most ") for verb in ("prune             ", "trigger --train   ")] == [1, 1]
    assert "init --make-tasks  20 for a skill: at most 6 questions and 60 to try the criteria" in out
    write("h-twin", "- Count.", None)
    text = Path("skills", "h-twin", "SKILL.md").read_text()
    Path("skills", "h-twin", "SKILL.md").write_text(text.replace("h-twin", "a-plain"))
    assert main(["plan", "--skills", "skills"]) == 0  # only triggers need names of their own
    out = capsys.readouterr().out
    assert "audit              at most 120 attempts" in out
    assert "\ntrigger            two skills in 'skills' are called 'a-plain'" in out
    assert "trigger --train" not in out
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--split", "val"],
        ["--split", "test"],
        ["--evals", "out"],
        ["--skill", "none"],
        ["--target", "a", "--target", "b"],
    ],
)
def test_what_only_one_skill_has_is_refused(skills: None, capsys: Captured, words: list[str]) -> None:
    assert main(["evaluate", "--skill", "skills", *words]) == 2
    assert "a folder of skills goes with no further" in capsys.readouterr().err
    assert not Path("runs").exists()
