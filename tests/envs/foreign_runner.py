"""A runner of another maker's tasks without another maker: colours to name, by the model the order names. What the
model says decides what goes wrong."""

import asyncio
import json
import os
import sys
from typing import Any

SETTINGS: dict[str, Any] = json.loads(sys.argv[1])
sys.path.append(SETTINGS["wire"])

from etude_wire import answer  # noqa: E402 # pyright: ignore[reportMissingImports, reportUnknownVariableType]

COLOURS = ("red", "green", "blue", "white", "black", "grey")


def ask(order: dict[str, Any]) -> str:
    import urllib.request  # takes longer than all else here, and most orders ask nobody

    system = [{"role": "system", "content": order["text"]}] if order["text"] else []
    body = {"model": order["model"], "messages": [*system, {"role": "user", "content": order["task"]}]}
    request = urllib.request.Request(
        f"{order['url']}/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": f"Bearer {order['key']}"},
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["choices"][0]["message"]["content"] or ""


def described(settings: dict[str, Any]) -> dict[str, Any]:
    asked = [f"{settings.get('say', 'Name')} the colour {colour}." for colour in COLOURS]
    tasks = [{"key": text, "id": text.split()[-1][:-1], "input": text, "gold": None} for text in asked]
    return {"tasks": tasks, "scores": settings.get("scores", ["match"]), "sandboxes": settings.get("sandboxes", [])}


def peek(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return "nothing"


async def handle(order: dict[str, Any]) -> dict[str, Any]:
    if order["do"] == "describe":
        print("a package that prints")
        if "broken" in SETTINGS["variants"][0]:
            raise ValueError("the data are gone")
        if "exit" in SETTINGS["variants"][0]:
            sys.exit("set COLOURS_HOME first")
        return {"version": "1.0", "variants": [described(each) for each in SETTINGS["variants"]]}
    said = await asyncio.to_thread(ask, order)
    if said == "die":
        os._exit(3)
    if said.startswith("die of "):
        os.write(2, b"loading\nno more colours\n")
        os.kill(os.getpid(), int(said.removeprefix("die of ")))
    if said == "eat":
        hold = [bytearray(2**20) for _ in range(2**12)]
        return {"score": len(hold)}
    if said == "peek":
        return {"score": 1, "answer": json.dumps([sorted(os.environ), peek(SETTINGS["variants"][0]["secret"])])}
    if said == "files":
        return {"score": 1, "answer": ",".join([order["name"], *order["files"]])}
    if said.startswith("score "):
        return {"score": float(said.removeprefix("score ")), "answer": said}
    if said == "limit":
        return {"failure": "the message limit was reached"}
    if said == "break":
        raise RuntimeError("the sandbox did not start")
    return {"score": float(said in order["task"] and bool(said)), "answer": said, "feedback": f"match: {said}"}


answer(handle)
