"""The reference page about the files of a run: what they hold, record by record, from the docstrings in the code."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from etude.measure.audit.suite import Audit
from etude.measure.evaluate import SkillEvaluation
from etude.measure.seeds import SeedReport
from etude.records import Attempt, LeftOut, Patch, Proof, Trajectory
from etude.records.provenance import Provenance
from etude.records.summary import Comparison, Summary
from etude.stages.reflect import Reflection
from etude.store.views import AskedTask, GateView, UpdateView

GENERATED = "<!-- Written by scripts/docs. Change the docstrings in the code instead. -->\n\n"


def about(thing: object) -> str:
    """What a docstring says before its arguments and errors."""
    return (inspect.getdoc(thing) or "").partition("\nArgs:")[0].partition("\nRaises:")[0].strip()


FILES: list[tuple[str, str, list[type[BaseModel]]]] = [
    ("`summary.json`", "the result, also of a run that stopped early", [Summary]),
    ("`tasks.json`", "the tasks of all splits", [AskedTask]),
    ("`steps/NNNN/`: `rollout.json`", "the attempts", [Attempt]),
    ("`steps/NNNN/`: `patches.json`", "what each optimizer call that read attempts proposed", [Reflection]),
    ("`steps/NNNN/`: `merged.json`", "the merged patch; not under `evidence`", [Patch]),
    ("`steps/NNNN/`: `selected.json`", "`edits` to be made or tested; `left_out`, each with why", [LeftOut]),
    ("`steps/NNNN/`: `proof.json`", "what the tests of the edits found; under `evidence`", [Proof]),
    ("`steps/NNNN/`: `update.json`", "what became of the edits", [UpdateView]),
    ("`steps/NNNN/`: `gate.json`", "the decision", [GateView]),
    ("`steps/NNNN/`: `candidate.md`, `candidate.diff`", "the candidate, and what it changes", []),
    (
        "`epochs/NN/`: `slow_update.json`, `meta_skill.json`",
        "the compared tasks (`category`, the attempts `previous` and `current`); the optimizer's `memory`",
        [],
    ),
    ("`provenance.json`", "a reason for every line of the best skill", [Provenance]),
    ("`ship.json`, `comparisons/`", "the comparison on the test tasks; those of `etude compare`", [Comparison]),
    ("`evaluations/`", "what `etude evaluate` found", [SkillEvaluation]),
    ("`audits/`", "what `etude audit` found", [Audit]),
    ("`<name>-seeds.json`", "beside the run folders: what `train --seeds` found", [SeedReport]),
]
"""The JSON files of a run: name, what it holds, the records in it."""


def fields_of(record: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """The fields of a record in JSON, with what their docstrings say."""
    for owner in reversed(record.__mro__):
        if not issubclass(owner, BaseModel) or owner.__module__.startswith("pydantic"):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
        assert isinstance(body, ast.ClassDef)
        for at, line in enumerate(body.body):
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                name = line.target.id
                after = body.body[at + 1] if at + 1 < len(body.body) else None
                said = (
                    after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
                )
                if name in record.model_fields and not record.model_fields[name].exclude:
                    yield name, " ".join(str(said).split())


def records_in(record: type[BaseModel]) -> list[type[BaseModel]]:
    """The records that its fields hold."""
    waiting: list[Any] = [field.annotation for field in record.model_fields.values() if not field.exclude]
    found: list[type[BaseModel]] = []
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, type) and issubclass(one, BaseModel):
            found.append(one)
        waiting = [*get_args(one), *waiting]
    return found


def record_text(record: type[BaseModel], told: set[tuple[str, str]]) -> str:
    """A record and its fields; what `told` has of a field already is not said again."""
    found = [(name, said) for name, said in fields_of(record) if (record, name) not in NOT_IN_VIEWS]
    lines = [
        f"|`{name}`|{said}|".replace("P(pass | ", "P(pass, ")
        for name, said in found
        if said and (name, said) not in told
    ]
    plain = ", ".join(f"`{name}`" for name, said in found if not said or (name, said) in told)
    told.update(found)
    first = " ".join(about(record).split("\n\n")[0].split())
    table = "\n\n|field|is|\n|---|---|\n" + "\n".join(lines) if lines else ""
    also = f" {'Further fields' if lines else 'Fields'}: {plain}." if plain else ""
    return f"{first}{also}{table}"


NOT_TOLD = ("Message", "File", "Place", "Criterion")
"""Records that need no words here: conversations, contents of files, and what environments keep."""
NOT_IN_VIEWS = {(Trajectory, "seconds"), (Trajectory, "usd")}
"""Fields that files of a run do not have."""


def run_folder_page() -> str:
    """The files of a run and the records in them, field by field."""
    text = (
        f"# Files of a run\n\n{GENERATED}What a run folder has for people stands in [results](../results.md#files). "
    )
    text += "Its JSON files:\n\n|file|holds|\n|---|---|\n"
    text += "".join(
        f"|{name}|{holds}{''.join(f' ([{one.__name__}](#{one.__name__.lower()}))' for one in records)}|\n"
        for name, holds, records in FILES
    )
    text += (
        "\nBeside them: `config.yaml`, `journal.db` (with `journal.db-wal`, `journal.db-shm`, `journal.db.lock`), "
    )
    text += "`events.jsonl` ([events](python.md#events)), `initial/<skill>/`, `best/<skill>/`, "
    text += "`skills/NNNN.md`, and `stop`, a file that "
    text += "asks the run to stop.\n"
    seen: set[type[BaseModel]] = set()
    told: set[tuple[str, str]] = set()
    for record in (record for _, _, records in FILES for record in records):
        waiting = [record]
        while waiting:
            one = waiting.pop(0)
            if one not in seen and one.__name__ not in NOT_TOLD:
                seen.add(one)
                waiting = [*records_in(one), *waiting]
                level = "##" if one is record else "###"
                text += f"\n{level} {one.__name__}\n\n{record_text(one, told)}\n"
    return text
