"""Descriptions of real skills, trained on 60 of 100 of their requests and judged by the others.

    benchmarks/triggers.py FOLDER_OF_SKILLS [--judge lexical|listing] [--salt TEXT]

Each skill that fails a request is trained among all others, one after the other: first those that are opened for
requests of others, which get shorter, then those that are missed, which may grow by what the others left. The judge
is BM25, or a simulated chat model that is shown the list and compares letters. The optimizer is a program: it
composes a description of parts of the present one and of the skill's own text, and no model is asked.
"""

import argparse
import asyncio
import json
import math
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scripted_optimizer import nothing

from etude.cli.scaffold.requests import askable, near, of_skills
from etude.config import TrainConfig, make_config
from etude.config.sections import AgentSection
from etude.intervals import difference_interval
from etude.measure.triggers.catalogue import Catalogue, one_line, read_catalogue
from etude.measure.triggers.description import LONGEST, Bounds
from etude.measure.triggers.environment import LEXICAL
from etude.measure.triggers.judge import SkillsAtHand
from etude.measure.triggers.measure import Triggers, ameasure_triggers
from etude.measure.triggers.requests import Request
from etude.measure.triggers.train import trained_description, training
from etude.protocols import ChatModel
from etude.records import ChatRequest, Reply, Skill, Split, digest
from etude.skill import Document
from etude.trainer import Trainer
from etude.workbench import Given

_ATTEMPT = re.compile(r'<attempt id="([^"]+)"([^>]*)>\n(.*?)\n</attempt\b', re.DOTALL)
_TASK = re.compile(r"<task\b[^>]*>\n(.*?)\n</task\b", re.DOTALL)
_ANSWER = re.compile(r"<answer\b[^>]*>\n(.*?)\n</answer\b", re.DOTALL)
_SKILL = re.compile(r"<skill\b[^>]*>\n(.*?)\n</skill\b", re.DOTALL)
_PLAIN = re.compile(r"```.*?```|[`*_>|]|\[([^\]]*)\]\([^)]*\)", re.DOTALL)
_WORDS = re.compile(r"[^\W_]{3,}")
_SHORTEST, _LONGEST = 20, 160
"""Characters of a part of a text that is worth taking over."""
_WEIGHTS = ((1.0, 2.0, 0.3, 0.8), (2.0, 2.0, 0.3, 0.8), (2.0, 1.0, 0.6, 0.6), (2.0, 2.0, 0.5, 1.0))
"""What a word counts that stands in a missed request, in the present description, in the skill; and the power of a
part's length by which its worth is divided. In turn."""
_NAMED = 2.0
"""What a word of the skill's name counts."""
_NEAR, _FEWEST = 2, 12
"""Requests of other skills that are trained on, for each of its own, and at least."""
_SHRINKS, _GROWS = 0.7, 3.0
SETTINGS = {
    "search": {
        "policy": "paper",
        "no_regression": True,  # a skill that is opened for nothing any more takes nothing from others either
        "minibatch_size": 40,
        "batch_size": 40,
        "edit_budget": 1,
        "min_edit_budget": 1,
    },
    "train": {"epochs": 4},
    "test": {"enabled": False},
    "limits": {"concurrency": 1},
}


class Corpus:
    """The texts of all skills, and how common their words are."""

    def __init__(self, folder: Path) -> None:
        places = [path.parent for path in sorted(folder.glob("*/SKILL.md"))]
        self.published = read_catalogue(folder)
        self.requests = askable(of_skills(places), self.published).requests
        documents = [Document.parse((place / "SKILL.md").read_text()) for place in places]
        self.bodies = {str(document.meta["name"]): document.body for document in documents}
        self.in_descriptions = Counter(word for text in self.published.values() for word in set(_words(text)))
        self.in_bodies = Counter(word for text in self.bodies.values() for word in set(_words(text)))


class DescribingOptimizer(ChatModel):
    """Answers each analysis with one rewritten description: parts of the present one and of the skill's own text,
    those first whose words are asked for and rare, as many as there is room for."""

    name = "scripted"
    endpoint = "this process"

    def __init__(self, skill: str, corpus: Corpus, rule: Bounds) -> None:
        self._own, self._corpus, self._rule = skill, corpus, rule
        plain = _PLAIN.sub(r"\1", corpus.bodies[skill])
        self._body = Counter(_words(plain))
        part = rule._replace(longest=_LONGEST)
        named = f"It is the skill for {skill.replace('-', ' ')}."
        self._parts = [named, *(one for one in _parts(plain) if not part.fault(one))]
        self._turn = 0

    async def complete(self, request: ChatRequest) -> Reply:
        text = "\n".join(message.text for message in request.messages if message.role == "user")
        schema = request.response_schema.body if request.response_schema else {}
        values: dict[str, Any] = nothing(schema, schema) if schema else {"reasoning": "", "edits": []}
        skill, shown = _SKILL.search(text), _ATTEMPT.findall(text)
        failed = [name for name, attributes, _ in shown if not re.search(r'\bhard="1', attributes)]
        if "edits" in values and skill and failed:
            new = self._rewritten(skill[1], {name: body for name, _, body in shown}, failed)
            edit = {"op": "replace", "target": skill[1], "content": new, "reason": "failed", "cites": failed}
            values |= {"reasoning": "Requests that fail.", "edits": [edit]}
        return Reply(text=json.dumps(values))

    def _rewritten(self, skill: str, shown: Mapping[str, str], failed: Sequence[str]) -> str:
        asked, kept, own, power = _WEIGHTS[self._turn % len(_WEIGHTS)]
        self._turn += 1
        wanted, stolen, good = Counter[str](), Counter[str](), set[str]()
        for name, body in shown.items():
            words = set(_words(_TASK.findall(body)[0]))
            answer = _ANSWER.search(body)
            if name in failed and "is not for" in body:
                stolen.update(words)
            elif name in failed or (answer and answer[1].strip() == self._own):
                wanted.update(dict.fromkeys(words, asked if name in failed else 1.0))
                good |= words
        wanted.update(dict.fromkeys(_words(skill), kept))
        wanted.update(dict.fromkeys(_words(self._own.replace("-", " ")), _NAMED))
        wanted.subtract({word: count for word, count in stolen.items() if word not in good})
        rare, rare_in_bodies = self._corpus.in_descriptions, self._corpus.in_bodies
        worth = {word: count * math.log(400 / (1 + rare[word])) for word, count in wanted.items()}
        for word, count in self._body.items():
            more = own * count**0.5 * math.log(400 / (1 + rare_in_bodies[word]))
            worth[word] = worth.get(word, 0.0) + more
        return self._composed(skill, worth, power) or skill

    def _composed(self, skill: str, worth: dict[str, float], power: float) -> str:
        """The best parts, greedily: each word counts once."""
        left = {one: set(_words(one)) for one in [*_parts(skill), *self._parts]}
        chosen, room = list[str](), self._rule.longest
        while left:
            value = {
                one: sum(worth.get(word, 0) for word in words) / len(one) ** power for one, words in left.items()
            }
            best = max(value, key=lambda one: value[one])
            if value[best] <= 0:
                break
            words = left.pop(best)
            if len(best) > room or self._rule.fault(" ".join([*chosen, best])):
                continue
            chosen.append(best)
            room -= len(best) + 1
            worth |= {word: min(0.0, worth.get(word, 0.0)) for word in words}
            left = {one: words for one, words in left.items() if len(one) <= room}
        return "\n".join(chosen)


class LetterModel(ChatModel):
    """A simulated chat model: reads the list of skills in its instructions and names the one whose letters, in
    threes, are most like those of the request. It opens none, by chance, in `luck` of its answers."""

    name = "simulated:letters"
    endpoint = "this process"

    def __init__(self, luck: float = 0.05) -> None:
        self._luck = luck
        self._known: dict[str, frozenset[str]] = {}

    async def complete(self, request: ChatRequest) -> Reply:
        lines = (line[2:].partition(": ") for line in request.messages[0].text.splitlines() if line.startswith("- "))
        listed = {name: self._letters(text) for name, _, text in lines if text}
        common = Counter(three for letters in listed.values() for three in letters)
        asked = request.messages[-1].text
        mine = self._letters(asked)
        alike = {
            name: sum(math.log(1 + len(listed) / common[three]) for three in mine & letters) / len(letters) ** 0.35
            for name, letters in listed.items()
        }
        best = max(alike, key=lambda name: (alike[name], name), default="none")
        draw = int(digest([asked, request.seed])[:8], 16) / 16**8
        return Reply(text="none" if draw < self._luck else best, simulated=True)

    def _letters(self, text: str) -> frozenset[str]:
        if text not in self._known:
            folded = f" {' '.join(_words(text))} "
            self._known[text] = frozenset(folded[start : start + 3] for start in range(len(folded) - 2))
        return self._known[text]


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORDS.findall(text)]


def _parts(text: str) -> list[str]:
    """Sentences and clauses, each as a sentence; long ones are divided at a comma, else between words."""
    found: list[str] = []
    for sentence in re.split(r"\n|(?<=[.!?;])\s|\s[—–-]\s", text):
        rest = one_line(sentence.strip(" #-0123456789."))
        while len(rest) > _LONGEST:
            cut = max(rest.rfind(", ", 40, _LONGEST), 0) or rest.rfind(" ", 40, _LONGEST)
            if cut < 0:
                break
            found.append(rest[:cut])
            rest = rest[cut:].strip(", ")
        found.append(rest)
    some = dict.fromkeys(f"{part[0].upper()}{part[1:].rstrip(':;,. ')}." for part in found if part)
    return [one for one in some if _SHORTEST <= len(one) <= _LONGEST]


def divided(requests: Iterable[Request], salt: str) -> tuple[list[Request], list[Request]]:
    """60 of 100 to train on, and the others, whatever skill they are for."""
    order = sorted(requests, key=lambda one: digest([salt, one.text]))
    count = round(0.6 * len(order))
    return order[:count], order[count:]


class Bench:
    """One catalogue, one judge, one division of the requests."""

    def __init__(self, folder: Path, judge: str, salt: str, runs: str) -> None:
        self.corpus = Corpus(folder)
        self.seen, self.kept = divided(self.corpus.requests, salt)
        self._by = LEXICAL if judge == "lexical" else AgentSection()
        self._given = Given() if judge == "lexical" else Given(target=LetterModel())
        self._runs = runs
        self._count = 0
        self.trained = dict(self.corpus.published)

    def _config(self) -> TrainConfig:
        self._count += 1
        return make_config({**SETTINGS, "run": {"folder": self._runs, "name": f"r{self._count}"}})

    async def measured(self, catalogue: Catalogue, requests: Sequence[Request]) -> Triggers:
        """How the skills of a catalogue are opened."""
        return await ameasure_triggers(
            self._config(), requests, SkillsAtHand(catalogue, "whole"), self._by, **self._given
        )

    async def train_all(self) -> None:
        """Train what fails, each description among the others as they are then."""
        saved = 0
        for grows in (False, True):
            now = await self.measured(self.trained, self.seen)
            rows = {row.skill: row for row in now.skills}
            for name in sorted(rows):
                row = rows[name]
                missed = row.opened is not None and row.opened.mean < 1
                if missed != grows or not (missed or row.false_openings):
                    continue
                before = len(self.trained[name])
                most = min(LONGEST, before + saved, int(_GROWS * before)) if grows else int(_SHRINKS * before)
                others = {each for each, other in rows.items() if name in other.instead}
                await self._train(name, most, [one for one in self.seen if others.intersection(one.needs)])
                saved += before - len(self.trained[name])

    async def _train(self, name: str, most: int, taken: Sequence[Request]) -> None:
        """Train one description on its own requests, on those of skills from which it took one, and on near ones."""
        own = [one for one in self.seen if one.expects(name) or (not one.needs and one.quiet == name)]
        description = self.trained[name]
        beside = near(self.seen, name, description, max(_FEWEST, _NEAR * len(own)))
        asked = list({one.id: one for one in (*own, *taken, *beside)}.values())
        shelf = SkillsAtHand(self.trained, "whole", name)
        skill = Skill(name=name, text=self.corpus.bodies[name])
        # The published one is longer than what is asked for here: the rule is for what takes its place.
        parts: dict[Split, list[Request]] = {"train": asked, "val": asked}
        config, made = training(self._config(), parts, shelf, self._by, skill, max(most, len(description)))
        rule = Bounds.beside(self.corpus.published[name], most)
        given: Given = {**made, **self._given, "optimizer": DescribingOptimizer(name, self.corpus, rule)}
        self.trained[name] = trained_description(await Trainer(config, **given).atrain())


async def run(folder: Path, judge: str, salt: str) -> dict[str, Any]:
    """Train all descriptions and measure both catalogues on both parts."""
    with tempfile.TemporaryDirectory() as runs:
        bench = Bench(folder, judge, salt, runs)
        await bench.train_all()
        published, trained = bench.corpus.published, bench.trained
        result: dict[str, Any] = {
            "judge": judge,
            "salt": salt,
            "changed": sum(published[name] != trained[name] for name in published),
            "characters": [sum(map(len, one.values())) for one in (published, trained)],
        }
        for part, requests in (("training", bench.seen), ("held_out", bench.kept)):
            before, after = await bench.measured(published, requests), await bench.measured(trained, requests)
            needing = [one.id for one in requests if one.needs]
            gain = difference_interval([before.right[id] for id in needing], [after.right[id] for id in needing])
            result[part] = {
                "needing": len(needing),
                "opened": [one.opened and round(one.opened.mean, 3) for one in (before, after)],
                "gain": [round(gain.mean, 3), round(gain.low, 3), round(gain.high, 3)],
                "quiet": [one.quiet and round(one.quiet.mean, 3) for one in (before, after)],
                "false_openings": [before.false_openings, after.false_openings],
            }
    return result


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--judge", choices=("lexical", "listing"), default="lexical")
    parser.add_argument("--salt", default="triggers", help="another one divides the requests otherwise")
    args = parser.parse_args()
    print(json.dumps(asyncio.run(run(args.folder, args.judge, args.salt)), indent=2))


if __name__ == "__main__":
    main()
