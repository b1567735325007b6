"""Transcripts of an invented user, to try `etude sleep` on without a key and without a past.

    python examples/sleep/make_transcripts.py trial
    cd trial && etude sleep run

Writes into the folder: `transcripts.jsonl` in the format of the source `jsonl`, the settings `sleep.yaml` that stand
beside this file, and `CLAUDE.md` with a line of the user's own. The user asks an agent for briefs, and misses a
recommendation in each of them.
"""

import json
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

TOPICS = (
    "a second counter in the bakery",
    "evening classes in the pottery",
    "a new sign for the bookshop",
    "bicycle stands at the theatre",
    "a Saturday market on the pier",
    "online tickets for the aquarium",
    "heat pumps in the swimming pool",
    "a guide book for the castle",
    "a coffee machine for the library",
    "night buses to the harbour",
    "fewer flyers for the festival",
    "longer leases for the allotments",
)
OPENINGS = ("Write a brief on {}.", "Advise on {}.", "Analyze the decision of {}.")
ANSWER = (
    "This is about {0}. Most of the cost comes in the first year, most of the gain later. Two neighbours did it and "
    "kept it, and it can be undone within a season."
)
COMPLAINTS = (
    "And what should we do? There is no recommendation in it.",
    "You forgot the recommendation again. I need a line 'Recommendation:' with a reason.",
    "No recommendation. Please always end with one.",
)
MENDED = "{0}\n\nRecommendation: try {1} for a season, because it can be undone."
START = datetime(2026, 5, 4, 8, 30, tzinfo=UTC)


def session(number: int, project: Path) -> dict[str, Any]:
    """A request, the complaint about the answer, and the answer that the user was content with."""
    topic = TOPICS[number]
    at = START + timedelta(days=number)
    answer = ANSWER.format(topic)
    said = [
        (OPENINGS[number % len(OPENINGS)].format(topic), answer),
        (COMPLAINTS[number % len(COMPLAINTS)], MENDED.format(answer, topic)),
        ("Thanks, that is what I need.", "Glad to help."),
    ]
    turns = [
        {"prompt": prompt, "at": (at + timedelta(minutes=2 * place)).isoformat(), "answer": reply}
        for place, (prompt, reply) in enumerate(said)
    ]
    return {"id": f"brief-{number + 1:02}", "project": str(project), "turns": turns}


def sessions(project: Path) -> list[dict[str, Any]]:
    """All of them: those about briefs, and some of what a night has to leave out."""
    made = [session(number, project) for number in range(len(TOPICS))]
    made[3]["turns"][2]["prompt"] += " The key for the printer's site is sk-" + "invented" * 3
    made[5]["turns"].append({"prompt": "/clear", "at": made[5]["turns"][-1]["at"], "answer": ""})
    elsewhere = {"prompt": "Rename the photos by date.", "at": START.isoformat(), "answer": "Done."}
    return [*made, {"id": "photos", "project": str(project.parent / "photos"), "turns": [elsewhere]}]


def main(folder: Path) -> None:
    """Write all of it."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(one) for one in sessions(folder.resolve())]
    (folder / "transcripts.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (folder / "CLAUDE.md").write_text("# House rules\n\nBritish spelling.\n", encoding="utf-8")
    shutil.copy(Path(__file__).with_name("sleep.yaml"), folder / "sleep.yaml")
    print(f"{folder}: {len(lines)} sessions in transcripts.jsonl, CLAUDE.md and sleep.yaml")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
