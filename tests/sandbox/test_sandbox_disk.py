"""Programs that write fast, in ways that are slow to count: they are ended before they have written a quarter more
than they may. Each says what it has written so far. `PACE` is the most that any writes: memory differs by machine."""

import pytest
from sandbox_boxes import as_user
from test_sandbox_limits import PAIRS, cases

PACE = 800
"""Megabytes in a second."""
BEGIN = f"""
import os, time
MB, pace = 1 << 20, {PACE}
data = os.urandom(MB)
begun, said = time.monotonic(), 0
def wrote(megabytes=1):
    global said
    os.write(1, b"+" * megabytes)
    said += megabytes
    time.sleep(max(0, begun + said / pace - time.monotonic()))
"""
FAST = {
    "one file": """
with open("it", "wb", 0) as file:
    while True: file.write(data); wrote()
""",
    "deleted files": """
kept = []
while True:
    kept.append(open("it", "wb", 0))
    os.unlink("it")
    for _ in range(16): kept[-1].write(data); wrote()
""",
    "room that is reserved": """
for number in range(100):
    file = os.open(str(number), os.O_CREAT | os.O_RDWR)
    os.posix_fallocate(file, 0, 20 * MB)
    wrote(20)
""",
    "files among many that take long to count": """
for number in range(2000): os.close(os.open(f"{number}", os.O_CREAT))
wrote(8)
with open("it", "wb", 0) as file:
    while True: file.write(data); wrote()
""",
    "processes": """
pace /= 8
for name in "abcdefg":
    if not os.fork(): break
else: name = "h"
with open(name, "wb", 0) as file:
    while True: file.write(data); wrote()
""",
}


@pytest.mark.parametrize(
    ("sandbox", "user", "trick"), cases(FAST, "one file", "deleted files"), indirect=["sandbox", "user"]
)
def test_a_fast_writer_is_ended_before_it_has_written_a_quarter_more(sandbox, user, trick) -> None:
    # A quarter of less is written in memory before a busy machine lets anybody look.
    over, _, out, err = as_user(user, sandbox, BEGIN + FAST[trick], {"disk_mb": 400, "file_mb": 2000})
    assert (over, err) == ("disk limit", "")
    assert 160 <= len(out) <= 500


@pytest.mark.parametrize(("sandbox", "user"), PAIRS, indirect=True)
def test_links_and_holes_are_not_written(sandbox, user) -> None:
    code = """
import os
with open("it", "wb") as file: file.write(bytes(20 << 20))
for number in range(50): os.link("it", str(number))
os.close(os.open("hole", os.O_CREAT | os.O_RDWR))
os.truncate("hole", 900 << 20)
import time; time.sleep(1.5)
print("done")
"""
    assert as_user(user, sandbox, code, {"disk_mb": 100, "file_mb": 1000}) == ("", 0, "done\n", "")
