"""The processes around a program: what they count, and that they need nothing but Python."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from etude.sandbox.launch.processes import below, below_by_table, resident, size
from etude.sandbox.launcher import PACKAGE, interpreter, launcher
from etude.sandbox.pipes import Output
from rows import rows

LIMIT = 1 << 40


def test_they_import_nothing_but_the_standard_library_and_each_other() -> None:
    for module in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Import):
                assert {name.name for name in node.names} <= sys.stdlib_module_names, module
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 1 or (node.module or "").partition(".")[0] in sys.stdlib_module_names, module


def test_they_start_where_etude_is_not_installed(tmp_path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "launch")
    command = launcher("restrict", {}, ["true"], folder=str(tmp_path))
    assert command[0] == interpreter()
    done = subprocess.run(command, env={}, cwd="/", capture_output=True, check=False)
    assert done.stderr.splitlines()[-1] == b"KeyError: 'read'"


def test_size_counts_blocks_and_twins_once_and_stops_when_it_is_enough(tmp_path) -> None:
    mb = 1 << 20
    for number in range(5):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "file").write_bytes(bytes(mb))
    (tmp_path / "out").symlink_to("/usr")
    total = size([str(tmp_path), "/nowhere"], LIMIT)
    assert 5 * mb <= total <= 6 * mb
    os.link(tmp_path / "0/file", tmp_path / "1/twin")
    (tmp_path / "empty").touch()
    os.truncate(tmp_path / "empty", 1 << 30)
    assert size([str(tmp_path)], LIMIT) == total
    assert mb < size([str(tmp_path)], mb) <= 3 * mb


@pytest.fixture
def family():
    """A process with a child and a grandchild."""
    code = "import subprocess, sys, time\nn = int(sys.argv[1])\n"
    code += "if n: subprocess.Popen([sys.executable, '-I', '-S', '-c', sys.argv[2], str(n - 1), sys.argv[2]])\n"
    code += "else: print('ready', flush=True)\ntime.sleep(600)\n"
    argv = [sys.executable, "-I", "-S", "-c", code, "2", code]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
        os.killpg(process.pid, 9)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")
def test_processes_below_one_are_found_with_what_they_use(family) -> None:
    found = list(below(family))
    assert len(found) == 2
    assert {process.group for process in found} == {family}
    assert all(process.threads == 1 and process.rss > 1_000_000 for process in found)
    assert 0 < resident(found) <= sum(process.rss for process in found)


@pytest.mark.skipif(shutil.which("ps") is None, reason="ps is not installed")
def test_the_table_of_ps_says_the_same(family) -> None:
    table = list(below_by_table(family))
    assert [(process.pid, process.group) for process in table] == [
        (process.pid, process.group) for process in below(family)
    ]
    assert all(process.rss > 1_000_000 for process in table)


@rows("step", [1, 7, 1000])
def test_output_keeps_its_beginning_and_its_end(step) -> None:
    data = bytes(range(256)) * 40
    output = Output(1000)
    for start in range(0, len(data), step):
        output.add(data[start : start + step])
    assert output.cut
    assert output.text() == data[:500] + b"\n[%d bytes left out]\n" % (len(data) - 1000) + data[-500:]


@rows("length", [0, 1, 500, 501, 1000])
def test_output_that_fits_is_kept_whole(length) -> None:
    output = Output(1000)
    for _ in range(length):
        output.add(b"x")
    assert (output.cut, output.text()) == (False, b"x" * length)
