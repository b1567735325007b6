"""check: python diff.py     (with boxes: 2)

Compares files with those of the gold answer, {"files": {"total.txt": "5\\n"}}. No code of the attempt is run.
"""

import difflib
import json
import sys

attempt = json.load(sys.stdin)
for path, wanted in attempt["task"]["gold"]["files"].items():
    found = attempt["files"].get(path, "")
    if not isinstance(found, str):
        sys.exit(f"{path} is not a text")
    if found != wanted:
        lines = difflib.unified_diff(found.splitlines(), wanted.splitlines(), path, "wanted", lineterm="")
        sys.exit("\n".join(lines))
