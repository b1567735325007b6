"""What the client costs: CPU and memory per attempt, the journal's pace, start-up times.

    python benchmarks/client.py            everything, about ten minutes on two cores
    python benchmarks/client.py --quick    the same tables from a quarter of the attempts

Every figure is taken in a process of its own; the simulated endpoint runs in another one. CPU is what the operating
system charged to the measured process, user and system time together, so that it says nothing about the endpoint and
little about who else uses the machine. Results go to benchmarks/results/client.json.
"""

import argparse
import asyncio
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from client_ways import SKILL_CHARS, WAYS

LATENCY = 0.05
"""Seconds the endpoint waits before each answer."""
CONCURRENCIES = (1, 16, 64, 256)
ATTEMPTS = {1: 200, 16: 1_000, 64: 4_000, 256: 6_000}
"""Measured after half as many attempts, at most 600, that open connections and warm caches."""
SDKS = ("openai", "anthropic", "httpx2", "httpx")


def measure(way: str, concurrency: int, attempts: int, url: str | None = None) -> dict[str, float]:
    """Run one of `WAYS` in a process and a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, __file__, "--measure", way, folder, str(concurrency), str(attempts), url or ""]
        done = subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)


@contextmanager
def endpoint() -> Generator[str]:
    """The base URL of a simulated endpoint in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "etude", "simulate", "--port", str(port), "--latency", str(LATENCY)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while not answers(port):
            assert process.poll() is None, "the endpoint has ended"
            assert time.monotonic() < deadline, "the endpoint does not answer"
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def answers(port: int) -> bool:
    """Whether something listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def first_request_seconds(project: Path) -> tuple[float, float]:
    """From the start of `etude train` to the first request at its endpoint: wall and CPU seconds."""
    shutil.rmtree(project / "runs", ignore_errors=True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        words = [sys.executable, "-m", "etude", "train", "etude.yaml", "--target.model", "openai:target"]
        started = time.perf_counter()
        with subprocess.Popen(
            [*words, "--target.base_url", url], cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            connection, _ = server.accept()
            with connection:
                assert connection.recv(4).startswith(b"POST")
                wall = time.perf_counter() - started
            process.kill()
            cpu = os.wait4(process.pid, 0)[2]
            process.returncode = 0
    return wall, cpu.ru_utime + cpu.ru_stime


def help_seconds() -> tuple[float, float]:
    """`etude --help`: wall and CPU seconds."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "etude", "--help"], stdout=subprocess.DEVNULL)
    cpu = os.wait4(process.pid, 0)[2]
    process.returncode = 0
    return time.perf_counter() - started, cpu.ru_utime + cpu.ru_stime


def modules_of_help() -> tuple[int, str]:
    """How many modules `etude --help` imports, and the names of the SDKs among them."""
    code = "import sys; from etude.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    names = done.stderr.split()
    return len(names), ", ".join(name for name in SDKS if name in names) or "none"


def cpu_table(share: float) -> dict[str, Any]:
    """CPU per attempt at each concurrency, with the bare peers between the same requests."""
    rows: list[list[Any]] = []
    for concurrency in CONCURRENCIES:
        attempts = max(100, int(ATTEMPTS[concurrency] * share))
        with endpoint() as url:
            for way, name in (("etude", "etude"), ("openai", "bare openai SDK"), ("httpx2", "bare httpx2")):
                found = measure(way, concurrency, attempts, url)
                rows.append([concurrency, name, *shown(found, "cpu_ms", "per_second", "peak_mb")])
                say(*rows[-1])
    return {
        "caption": "Client CPU per attempt over HTTP",
        "columns": ["concurrency", "client", "CPU ms per attempt", "attempts per second", "peak MB"],
        "rows": rows,
        "note": f"Loopback HTTP to the simulated endpoint, which waits {1000 * LATENCY:.0f} ms before answers and "
        f"often limits the attempts per second itself; prompts of about {SKILL_CHARS:,} characters. etude does "
        "the whole attempt (journal, budget, retries, scoring, events), the bare clients send the request and read "
        "the text. Compare within one run: other work on the machine makes all of them more expensive.",
    }


def volume_table(share: float) -> dict[str, Any]:
    """Memory and pace of many attempts in one run."""
    many, some, facts = int(100_000 * share), int(10_000 * share), int(50_000 * share)
    with endpoint() as url:
        runs = (
            (f"{many:,} attempts in one run, target in the process", measure("etude", 64, many)),
            (f"{some:,} attempts in one run, target over HTTP", measure("etude", 64, some, url)),
            (f"{facts:,} facts of 1.8 KB, nothing else", measure("journal", 64, facts)),
        )
    rows: list[list[Any]] = []
    for name, found in runs:
        growth = found["peak_mb"] - found["before_mb"] if "before_mb" in found else None
        rows.append([name, *shown(found, "peak_mb"), None if growth is None else round(growth, 1)])
        rows[-1] += [*shown(found, "cpu_ms", "per_second", "wall"), int(found["backlog"])]
        say(*rows[-1])
    return {
        "caption": "Memory and journal",
        "columns": ["what", "peak MB", "of it grown", "CPU ms each", "per second", "seconds", "most unwritten"],
        "rows": rows,
        "note": "Concurrency 64. `of it grown` is what the measured attempts added. `most unwritten`: the largest "
        "number of answers that were not yet a fact, a score and an event.",
    }


def start_table(share: float) -> dict[str, Any]:
    """Start-up times."""
    times = max(3, int(10 * share))
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "demo"
        from etude.cli.demo import make_project

        make_project(project)
        first = [first_request_seconds(project) for _ in range(times)]
    helps = [help_seconds() for _ in range(times)]
    count, sdks = modules_of_help()
    rows: list[list[Any]] = []
    for name, found in (("etude --help", helps), ("start of etude train to first request", first)):
        walls, cpus = [wall for wall, _ in found], [cpu for _, cpu in found]
        rows.append([name, *(round(value, 3) for value in (statistics.median(walls), max(walls), min(walls)))])
        rows[-1].append(round(statistics.median(cpus), 3))
        say(*rows[-1])
    return {
        "caption": "Start-up",
        "columns": ["what", "median s", "slowest s", "fastest s", "median CPU s"],
        "rows": rows,
        "note": f"{times} times each. `etude --help` imports {count} modules; model SDKs: {sdks}.",
    }


def shown(found: dict[str, float], *names: str) -> list[float]:
    """Rounded to what the measurement can bear."""
    return [round(found[name], 2 if name == "cpu_ms" else 1) for name in names]


def say(*words: object) -> None:
    """A line, as soon as it is known."""
    sys.stdout.write("  ".join("-" if word is None else str(word) for word in words) + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a quarter of the attempts")
    parser.add_argument("--only", choices=("cpu", "volume", "start"), help="one table; results are not written")
    parser.add_argument("--measure", nargs=5, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure is not None:
        way, folder, concurrency, attempts, url = args.measure
        say(json.dumps(asyncio.run(WAYS[way](folder, int(concurrency), int(attempts), url or None))))
        return
    tables = {"cpu": cpu_table, "volume": volume_table, "start": start_table}
    done: list[dict[str, Any]] = []
    for name, table in tables.items():
        if args.only in (None, name):
            say(f"\n{name}")
            done.append(table(0.25 if args.quick else 1.0))
            say(*done[-1]["columns"])
            say(done[-1]["note"])
    if args.only is None:
        from harness import RESULTS, write_results  # not in the processes that are measured

        words = ["client", *["--quick"] * args.quick]
        write_results(RESULTS / "client.json", "What the client costs", words, done)


if __name__ == "__main__":
    main()
