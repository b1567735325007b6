"""A small agent program: reads the task from standard input, lets the model use a shell until it answers, prints the
answer. `--skills FOLDER` lists the skill in a folder as programs do that decide whether to read it."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request

TOOL = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a command.",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    },
}


def ask(messages):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        data=json.dumps({"model": os.environ.get("MODEL", "any"), "messages": messages, "tools": [TOOL]}).encode(),
        headers={"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)["choices"][0]["message"]
    except urllib.error.HTTPError as error:
        sys.exit(f"the model refused: {error.code} {error.read().decode()}")


def listed(path):
    with open(path) as file:
        head = file.read().split("---")[1] if os.path.getsize(path) else ""
    return f"There is a skill in {path}. {head}"


def main():
    arguments = sys.argv[1:]
    messages = [{"role": "user", "content": sys.stdin.read()}]
    if arguments[:1] == ["--skills"]:
        messages.insert(0, {"role": "system", "content": listed(arguments[1])})
    while True:
        message = ask(messages)
        messages.append(message)
        if not message.get("tool_calls"):
            print(message.get("content") or "")
            return
        for call in message["tool_calls"]:
            command = json.loads(call["function"]["arguments"])["command"]
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            result = done.stdout + done.stderr + f"[exit code {done.returncode}]"
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


main()
