"""How long the page takes to open a run of many attempts, how it scrolls, what its server holds, and its file.

    python benchmarks/view.py                      100,000 attempts, about five minutes
    python benchmarks/view.py --attempts 10000

The run is made up from a real one: its first step again and again, under other numbers. Each attempt answers in words
of its own, 150 drawn from 5,000, so that a file of them is about as large as one of real answers. Times are those of
a real Chromium, from the start of the navigation until the numbers of the screen stand there. Scrolling goes through
all tasks, and after each move every row that should be seen has to be there two frames later. Results go to
benchmarks/results/view.json.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness import command_line, write_results

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "slow"))
STEPS = 100
TASKS = 5_000
SYLLABLES = [first + vowel for first in "bdfgklmnpr" for vowel in "aeiou"]
BAND, CHART, CELLS = (
    f"return document.querySelector('{selector}') !== null"
    for selector in (".band .spend b", ".chart canvas", ".heat .cell")
)
"""Scripts that say whether a screen is drawn."""


def make_run(folder: Path, attempts: int) -> Path:
    """A run of so many attempts; its folder."""
    subprocess.run([sys.executable, "-m", "etude", "demo", "--folder", str(folder)], check=True, capture_output=True)
    run = folder / "runs" / "demo"
    template = json.loads((run / "steps" / "0001" / "rollout.json").read_text())[0]
    lines = (run / "events.jsonl").read_text().splitlines()
    finished = next(json.loads(line) for line in lines if '"attempt_finished"' in line)
    called = next(line for line in lines if '"call_finished"' in line)
    first, *_, last = (line for line in lines if '"run_' in line)
    words = [f"{start}{end}" for start in SYLLABLES for middle in SYLLABLES for end in (middle, middle * 2)]
    drawn = random.Random(1)
    shutil.copytree(run / "steps" / "0001", folder / "step")
    shutil.rmtree(run / "steps")
    with (run / "events.jsonl").open("w") as log:
        log.write(first + "\n")
        for step in range(1, STEPS + 1):
            place = run / "steps" / f"{step:04d}"
            shutil.copytree(folder / "step", place)
            rollout: list[dict[str, Any]] = []
            batch: list[str] = []
            log.write(json.dumps(event("stage_started", stage="rollout", step=step, epoch=1, total=0)) + "\n")
            for number in range(attempts // STEPS):
                name, task = f"a-{step:03d}{number:05x}", f"task-{(step * 37 + number) % TASKS:05d}"
                hard = float((number * 7 + step) % 11 > 3)
                score = {**template["score"], "hard": hard, "soft": hard}
                about = {"id": name, "score": score, "task": {**template["task"], "id": task}}
                said = " ".join(drawn.choices(words, k=150))
                rollout.append({**template, **about, "trajectory": {**template["trajectory"], "answer": said}})
                batch.append(name)
                told = {**finished, "attempt": name, "task": task, "hard": hard, "soft": hard, "split": "train"}
                log.write(f"{called}\n{json.dumps(told)}\n")
            (place / "rollout.json").write_text(json.dumps(rollout, indent=2))
            log.write(json.dumps(event("stage_finished", stage="rollout", step=step, attempts=batch)) + "\n")
            score = {
                "current": None,
                "best": None,
                "skill_tokens": 100,
                "solved": step,
                "tried": step,
                "tasks": TASKS,
            }
            decided = event(
                "decided", step=step, steps=0, action="accepted", origin="step", reason="made up", **score
            )
            log.write(json.dumps(decided) + "\n")
        log.write(last + "\n")
    return run


def event(kind: str, **fields: Any) -> dict[str, Any]:
    """A line of the log."""
    return {"at": "2026-01-01T00:00:00.000Z", "kind": kind, **fields}


def held(process: int) -> float:
    """MB of memory that a process has in use."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def timed(driver: Any, url: str, ready: str) -> float:
    """Seconds from the start of a navigation until a script finds the screen drawn."""
    driver.get("about:blank")
    begin = time.perf_counter()
    driver.get(url)
    while not driver.execute_script(ready):
        time.sleep(0.01)
    return time.perf_counter() - begin


def scrolled(driver: Any) -> tuple[int, int]:
    """How many moves through all tasks there were, and after how many of them a row was missing."""
    return tuple(
        driver.execute_async_script("""
        const done = arguments[0], box = document.querySelector('.heat');
        const step = Math.max(box.clientHeight, box.scrollHeight / 150);
        let moves = 0, gaps = 0;
        const next = () => requestAnimationFrame(() => requestAnimationFrame(() => {
          const { top, bottom } = box.getBoundingClientRect();
          for (const y of [top + 40, (top + bottom) / 2, bottom - 30]) {
            const found = document.elementFromPoint(innerWidth / 3, y)?.closest('tr');
            if (!found || found.getAttribute('aria-hidden')) { gaps += 1; break; }
          }
          moves += 1;
          if (box.scrollTop + box.clientHeight >= box.scrollHeight - 60) return done([moves, gaps]);
          box.scrollTop += step;
          next();
        }));
        next();
        """)
    )


def measure(attempts: int) -> dict[str, Any]:
    """All figures for a run of so many attempts."""
    from browser import browser

    with tempfile.TemporaryDirectory() as place:
        run = make_run(Path(place) / "project", attempts)
        command = [sys.executable, "-m", "etude", "view", str(run), "--no-open", "--json", "--port", "0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            url = json.loads("".join(iter(server.stdout.readline, "}\n")) + "}")["url"]
            with browser() as driver:
                driver.set_script_timeout(300)
                driver.get(f"{url}#/none")  # the modules are in no cache, but the browser is warm
                first = timed(driver, f"{url}#/runs/demo", BAND)
                curve = timed(driver, f"{url}#/runs/demo", CHART)
                tasks = timed(driver, f"{url}#/runs/demo/tasks", CELLS)
                moves, gaps = scrolled(driver)
                again = timed(driver, f"{url}#/runs/demo/tasks", CELLS)
                memory = held(server.pid)
        finally:
            server.terminate()
            server.wait()
            server.stdout.close()
        whole = as_file(run, attempts, Path(place) / "report.html")
    return {
        "attempts": attempts,
        "first screen, s": first,
        "again, with its curve, s": curve,
        "tasks, s": tasks,
        "tasks again, s": again,
        "moves": moves,
        "gaps": gaps,
        "server, MB": memory,
        **whole,
    }


def as_file(run: Path, attempts: int, file: Path) -> dict[str, Any]:
    """The same run as one file: its size, what writing it took, what it has room for, and how it opens."""
    from browser import browser

    begin = time.perf_counter()
    words = [sys.executable, "-m", "etude", "view", str(run), "--export", str(file)]
    _, status, used = os.wait4(os.spawnv(os.P_NOWAIT, sys.executable, words), 0)
    written = time.perf_counter() - begin
    if status:
        sys.exit("the file could not be written")
    left_out = re.search(r'"left_out":\["([\d,]+) of', file.read_text())
    with browser() as driver:
        driver.get("about:blank")
        first = timed(driver, f"{file.as_uri()}#/runs/demo", BAND)
        tasks = timed(driver, f"{file.as_uri()}#/runs/demo/tasks", CELLS)
    return {
        "file, MB": file.stat().st_size / 1e6,
        "to write it, s": written,
        "memory for that, MB": used.ru_maxrss / 1000,
        "attempts in it": attempts - (int(left_out[1].replace(",", "")) if left_out else 0),
        "its first screen, s": first,
        "its tasks, s": tasks,
    }


def main() -> None:
    parser = command_line(__doc__, "view")
    parser.add_argument("--attempts", type=int, default=100_000)
    args = parser.parse_args()
    found = measure(args.attempts)
    print(json.dumps(found, indent=2))
    shown = [round(value, 2) if isinstance(value, float) else value for value in found.values()]
    table = {
        "caption": "A run of many attempts in the page",
        "columns": list(found),
        "rows": [shown],
        "note": "moves: how often the list of tasks was scrolled on; gaps: after how many a row was not there. "
        "The file holds as many attempts as 24.5 MB have room for; most of each is its answer, in random words.",
    }
    write_results(args.out, "The page", ["view"], [table])


if __name__ == "__main__":
    main()
