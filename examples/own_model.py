"""Models of your own: a toy target that obeys its skill, and a toy optimizer that proposes edits.

    python examples/own_model.py [FOLDER]

A model has a `name` and `complete(request) -> Reply`. The optimizer is asked with a schema and answers in JSON; each
edit cites ids of attempts it was shown, or it is not made.
"""

import json
import re
import sys
import tempfile

from etude import ChatModel, ChatRequest, ListEnvironment, Reply, Task, Trainer

RULES = {"Greet in capitals.": str.upper, "End with an exclamation mark.": lambda text: f"{text}!"}


def score(task: Task, answer: str) -> float:
    """Half for the capitals, half for the mark."""
    return answer.isupper() / 2 + answer.endswith("!") / 2


class Greeter(ChatModel):
    """Says hello, and follows those of the RULES that its instructions contain."""

    name = "toy:greeter"

    async def complete(self, request: ChatRequest) -> Reply:
        instructions, question = (message.text for message in request.messages)
        answer = f"hello {question.rpartition(' ')[2]}"
        for rule, follow in RULES.items():
            answer = follow(answer) if rule in instructions else answer
        return Reply(text=f"<answer>{answer}</answer>")


class Teacher(ChatModel):
    """Proposes the first rule that the prompt does not mention yet, for all attempts that scored below 1."""

    name = "toy:teacher"

    async def complete(self, request: ChatRequest) -> Reply:
        prompt = request.messages[-1].text
        failed = re.findall(r'<attempt id="([^"]+)" outcome="\w+" hard="0', prompt)
        missing = [rule for rule in RULES if rule not in prompt][:1] if failed else []
        edits = [{"op": "append", "target": "", "content": rule, "reason": "", "cites": failed} for rule in missing]
        return Reply(text=json.dumps({"reasoning": "", "edits": edits}))


def main(folder: str) -> None:
    """Train."""
    names = ["Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ian"]
    tasks = [{"input": f"Say hello to {name}"} for name in names]
    env = ListEnvironment(tasks[:2], tasks[2:7], tasks[7:], scorer=score)
    config = {"train": {"epochs": 2}, "run": {"folder": folder, "name": "own-model"}}
    summary = Trainer(config, env=env, target=Greeter(), optimizer=Teacher()).train()
    gain = summary.test_gain
    assert gain is not None
    print(f"gain on test tasks: {gain.mean:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}]")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="etude-"))
