"""The benchmarks run, and the page of their results is up to date."""

import ast
import importlib
import math
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import ablation
import nights
import page
import peers
import pytest
from measure import calls_to_reach, longest_chain, spread
from rewordings import REWORDINGS

ROOT = Path(__file__).parent.parent
BENCHMARKS = ROOT / "benchmarks"
RESULTS = sorted((BENCHMARKS / "results").glob("*.json"))


def run(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / f"{name}.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_the_page_is_up_to_date() -> None:
    done = run("page", "--check")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_results_name_no_folder_and_no_host(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"(?<![\w.])/(?:home|root|work|tmp|usr|opt|Users)/|://|\b\d+\.\d+\.\d+\.\d+\b", text)


def test_what_the_ablation_takes_away_is_still_there() -> None:
    gone = [
        (part, name) for part, rows in ablation.PARTS.items() for place, name, _ in rows if not hasattr(place, name)
    ]
    assert not gone
    assert set(ablation.LOOK_FOR_HARM) <= set(ablation.PARTS)


def test_an_unknown_system_is_refused() -> None:
    with pytest.raises(SystemExit, match="unknown system 'other'"):
        peers.main(["--systems", "other"])


def test_medians_and_quartiles_hold_with_runs_that_never_came_there() -> None:
    assert spread([3.0, 1.0, 2.0]) == (2.0, 1.5, 2.5)
    assert spread([10.0, math.inf, math.inf]) == (math.inf, math.inf, math.inf)
    assert spread([1.0, 2.0, math.inf]).median == 2.0


def test_calls_are_those_before_the_first_skill_that_is_good_enough() -> None:
    curve = [{"calls": calls, "test": test} for calls, test in ((0, 0.2), (40, 0.5), (80, 0.4), (120, 0.9))]
    one = {"attainable": 1.0, "curve": curve}
    assert [calls_to_reach(one, share) for share in (0.2, 0.5, 0.7, 0.97)] == [0, 40, 120, math.inf]


def test_the_longest_chain_counts_requests_that_waited_for_each_other() -> None:
    assert longest_chain([(0.0, 1.0), (0.0, 1.0), (1.0, 2.0), (1.5, 2.5), (2.0, 3.0)]) == 3
    assert longest_chain([]) == 0


def test_a_system_that_could_not_run_is_on_the_page_with_its_reason() -> None:
    setting = {"family": "sorting", "train": 1, "val": 1, "test": 1, "target": "target", "optimizer": "optimizer"}
    setting |= {"latency": 0.1, "workers": 8, "batch_size": 1, "epochs": 1}
    results = {"quick": True, "command": "c", "machine": "m", "seeds": 1, "setting": setting}
    results |= {"arms": [{"name": "gepa", "settings": []}]}
    results |= {"runs": [{"arm": "gepa", "reason": "pip could not install it", "version": ""}]}
    text = page.peers(results)
    assert "**gepa** did not run: pip could not install it." in text
    assert "too few seeds" in text


def test_kinds_bring_more_rewordings_together_and_no_two_wishes() -> None:
    found = {named: [nights.together(kind, named=named, seeds=1) for kind in REWORDINGS] for named in (True, False)}
    joined = {named: sum(one["joined"] for one in counts) for named, counts in found.items()}
    assert joined[True] >= 10 * joined[False]
    assert not any(one["merged"] for counts in found.values() for one in counts)


SCRIPTS = sorted(
    path for folder in ("benchmarks", "examples", "integrations", "scripts") for path in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_script_imports_of_the_package_is_there(script: Path) -> None:
    imports = [node for node in ast.walk(ast.parse(script.read_text())) if isinstance(node, ast.ImportFrom)]
    ours = [
        (node.module, one.name) for node in imports if f"{node.module}.".startswith("etude.") for one in node.names
    ]
    assert [(module, name) for module, name in ours if not is_there(module, name)] == []


def is_there(module: str, name: str) -> bool:
    """Whether a module has this name, or a module of this name in it."""
    found = importlib.import_module(module)
    return hasattr(found, name) or (hasattr(found, "__path__") and find_spec(f"{module}.{name}") is not None)
