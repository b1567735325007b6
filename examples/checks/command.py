"""check: python command.py     (with boxes: 2)

Runs `python3 main.py` for each case of the gold answer, {"cases": [{"stdin": "2 3", "stdout": "5"}]}.
"""

import json
import sys

from etude_attempt import run

for number, case in enumerate(json.load(sys.stdin)["task"]["gold"]["cases"], 1):
    done = run(["python3", "main.py"], stdin=case["stdin"], seconds=5)
    if done.code != 0:
        sys.exit(f"case {number}: exit code {done.code}: {done.stderr[-500:]}")
    if done.stdout.strip() != case["stdout"]:
        sys.exit(f"case {number}: for {case['stdin']!r} it prints {done.stdout[:500]!r}")
