"""Stands in for the package of this name: a game is a JSON file with its goal and the commands that win it, in order.
Like the real one it writes to standard output what it pleases."""

import json
import os
import sys
import time
from pathlib import Path

__version__ = "stand-in"


class EnvInfos:
    def __init__(self, **asked):
        self.asked = asked


class State:
    lost = False

    def __init__(self, feedback, goal, score, most, commands):
        self.feedback, self.objective, self.score, self.max_score = feedback, goal, score, most
        self.won, self.admissible_commands = score == most, commands


class Environment:
    def __init__(self, path):
        self.game = json.loads(Path(path).read_text())

    def reset(self):
        self.score = 0
        return self._state(f"####\n\n{self.game['goal']}\n\n\n\n-= Room =-\n\n>    -= Room =-0/1")

    def step(self, command):
        print("noise of the engine")
        if command == "crash":
            sys.stdout.flush()
            os._exit(3)
        if command == "kill":
            os.kill(os.getpid(), 9)
        if command == "hang":
            time.sleep(60)
        if command == "fail":
            raise ValueError("no such thing")
        right = command == self.game["wins"][self.score]
        self.score += right
        state = self._state("Done." if right else "Nothing happens.")
        return state, self.score, state.won

    def close(self):
        pass

    def _state(self, text):
        known = ["look", *self.game["wins"][self.score : self.score + 1]]
        return State(text, self.game["goal"], self.score, len(self.game["wins"]), known)


def start(path, infos):
    return Environment(path)
