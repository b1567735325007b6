"""Writes tasks.jsonl, a line for each folder of tasks/:

python evals/collect.py
"""

import json
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """What the agent is asked is in task.md, what it finds in its workspace in files/, which may be missing."""
    rows: list[dict[str, object]] = []
    for place in sorted((HERE / "tasks").iterdir()):
        files = f"tasks/{place.name}/files" if (place / "files").is_dir() else []
        rows.append({"id": place.name, "input": (place / "task.md").read_text(), "files": files})
    (HERE / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
