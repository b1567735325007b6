"""Descriptions of real skills, trained on 60 of 100 of their requests and judged by the others.

    benchmarks/triggers.py FOLDER_OF_SKILLS [--divisions alpha,beta]

All descriptions are trained as one document, and may take no more characters together than the published ones. The
judge is BM25, or a simulated chat model that is shown the list and compares letters. The optimizer is a program for
each, which adds sentences of the skills' own texts, and no model is asked. Requests are divided anew for each name in
`--divisions`; those of the page are no part of what the optimizer was made with.
"""

import asyncio
import json
import math
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from harness import command_line, write_results
from scripted_optimizer import nothing

from etude.cli.trigger import askable, of_skills
from etude.config import make_config
from etude.config.sections import AgentSection
from etude.intervals import difference_interval
from etude.measure.triggers.catalogue import Bounds, Described, described, one_line, read_catalogue, read_entry
from etude.measure.triggers.environment import LEXICAL, Request
from etude.measure.triggers.judge import SkillsAtHand
from etude.measure.triggers.measure import ameasure_triggers
from etude.measure.triggers.train import trained_descriptions, training
from etude.protocols import ChatModel
from etude.records import ChatRequest, Reply, Skill, Split, digest
from etude.skill import Document, load_skill
from etude.skill.folder import DOCUMENT
from etude.trainer import Trainer
from etude.workbench import Given

_ATTEMPT = re.compile(r'<attempt id="([^"]+)"([^>]*)>\n(.*?)\n</attempt\b', re.DOTALL)
_INNER = r"<{}\b[^>]*>\n(.*?)\n</{}\b"
_NEEDS = re.compile(r"the request needs '([^']+)'")
_OPENED = re.compile(r"'([^']+)' was opened, ")
_PLAIN = re.compile(r"```.*?```|[`*_>|]|\[([^\]]*)\]\([^)]*\)", re.DOTALL)
_WORDS = re.compile(r"[^\W_]{3,}")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[^a-z\s])")
_SHORTEST, _LONGEST = 20, 160
"""Characters of a part of a text that is worth taking over."""
_MORE = 200
"""Characters by which a description grows whose skill was missed."""
_BEYOND, _STEP = 100, 8
"""Characters that such a skill gets beyond the even room, and how closely that is looked for."""
_JUDGES = {"lexical": "by words (BM25)", "listing": "simulated chat model"}
SETTINGS = {
    # Each reply describes all skills anew: one edit of the whole document.
    "search": {
        "policy": "paper",
        "minibatch_size": 1_000,
        "batch_size": 1_000,
        "edit_budget": 1,
        "min_edit_budget": 1,
    },
    "train": {"epochs": 2},
    "test": {"enabled": False},
    "limits": {"concurrency": 1},
}


class DescribingOptimizer(ChatModel):
    """Describes all skills anew. It reads requests first, and writes when it knows which skills are asked for. Each
    gets its name in a sentence. Those that were missed also get parts of their own text, first those with rare words
    that the skill repeats or the missed requests have. What that takes is paid by skills that no request needs, first
    by those that were opened for the requests of others."""

    name = "scripted"
    endpoint = "this process"

    def __init__(self, document: Described, skills: Mapping[str, Skill]) -> None:
        self._document = document
        self._bodies = {name: Document.parse(skill.text).body for name, skill in skills.items()}
        self._asked = dict[str, Counter[str]]()
        """By skill, the words of the requests that need it, and in how many of them each is."""

    async def complete(self, request: ChatRequest) -> Reply:
        text = "\n".join(message.text for message in request.messages if message.role == "user")
        schema = request.response_schema.body if request.response_schema else {}
        values: dict[str, Any] = nothing(schema, schema) if schema else {"reasoning": "", "edits": []}
        skill, knows = re.search(_INNER.format("skill", "skill"), text, re.DOTALL), bool(self._asked)
        failed, missed, takers = list[str](), dict[str, Counter[str]](), Counter[str]()
        for name, attributes, shown in _ATTEMPT.findall(text):
            parts = {
                tag: re.search(_INNER.format(tag, tag), shown, re.DOTALL) for tag in ("task", "answer", "feedback")
            }
            feedback = parts["feedback"][1] if parts["feedback"] else ""
            needs = _NEEDS.search(feedback)
            takers.update(_OPENED.findall(feedback))
            words = set(_words(parts["task"][1])) if parts["task"] else set[str]()
            if re.search(r'\bhard="1', attributes) and parts["answer"]:
                self._asked.setdefault(parts["answer"][1].strip(), Counter()).update(words)
            elif needs:
                failed.append(name)
                missed.setdefault(needs[1], Counter()).update(words)
        if "edits" in values and skill and failed and knows:
            for name, words in missed.items():
                self._asked.setdefault(name, Counter()).update(words)
            new = self._written(self._document.read(skill[1]), missed, takers)
            edit = {"op": "replace", "target": skill[1], "content": new, "reason": "failed", "cites": failed}
            values |= {"reasoning": "Requests that fail.", "edits": [edit]}
        return Reply(text=json.dumps(values))

    def _written(self, old: Mapping[str, str], missed: Mapping[str, Counter[str]], takers: Mapping[str, int]) -> str:
        common = Counter(word for text in old.values() for word in set(_words(text)))
        rare = {word: math.log((1 + len(old)) / (1 + count)) for word, count in common.items()}
        named, said = dict.fromkeys(old, ""), dict(old)
        for name, text in old.items():
            bounds, name_said = self._document.bounds[name], f"Use it for {name.replace('-', ' ')}. "
            if not text.startswith(name_said) and not bounds.fault(f"{name_said}{text}"):
                named[name] = name_said
            if name in missed:
                first = f"{named[name]}{text}"
                grown = _grown(first, self._bodies[name], missed[name], rare, bounds, len(first) + _MORE)
                said[name] = grown.removeprefix(named[name])
        able = {name for name in old if name not in self._asked and _SENTENCE.search(said[name])}
        longer = [name for name in old if name in self._asked]
        while sum(len(named[name]) + len(said[name]) for name in old) > self._document.longest:
            if not able:  # nobody is left to pay for it
                dearest = longer.pop()
                named[dearest], said[dearest] = "", old[dearest]
                continue
            name = max(able, key=lambda each: (takers.get(each, 0), len(said[each]) / len(old[each]), each))
            shorter = _shortened(said[name], rare)
            if not self._document.bounds[name].fault(f"{named[name]}{shorter}"):
                said[name] = shorter
            if said[name] != shorter or not _SENTENCE.search(shorter):
                able.remove(name)
        return self._document.text({name: f"{named[name]}{said[name]}" for name in old})


class EvenOptimizer(DescribingOptimizer):
    """For a model that reads the whole list, in which long descriptions hide others: all skills get the same room,
    and those that were missed a little more. Each gets its name in a sentence, what is too long loses the sentences
    that say least, and what is short gets parts of its own text, first those with words of all requests that need it:
    with those of missed ones alone, others are missed then."""

    def _written(self, old: Mapping[str, str], missed: Mapping[str, Counter[str]], takers: Mapping[str, int]) -> str:
        common = Counter(word for text in old.values() for word in set(_words(text)))
        rare = {word: math.log((1 + len(old)) / (1 + count)) for word, count in common.items()}
        least, most, found = 0, 2 * self._document.longest // len(old), dict(old)
        while most - least > _STEP:
            room = (least + most) // 2
            new = {
                name: self._within(room + _BEYOND * (name in missed), name, text, rare) for name, text in old.items()
            }
            if sum(map(len, new.values())) > self._document.longest:
                most = room
            else:
                least, found = room, new
        return self._document.text(found)

    def _within(self, room: int, name: str, said: str, rare: Mapping[str, float]) -> str:
        asked = self._asked.get(name, Counter())
        bounds, first = self._document.bounds[name], f"Use it for {name.replace('-', ' ')}. "
        if said.startswith(first) or bounds.fault(f"{first}{said}"):
            first = ""
        while len(first) + len(said) > room and _SENTENCE.search(said):
            shorter = _shortened(said, rare)
            if bounds.fault(f"{first}{shorter}"):
                break
            said = shorter
        return _grown(f"{first}{said}", self._bodies[name], asked, rare, bounds, room)


def _grown(text: str, body: str, asked: Counter[str], rare: Mapping[str, float], bounds: Bounds, most: int) -> str:
    """With the best parts of a body, up to so many characters, greedily: each word counts once."""
    unknown, have, (left, counts) = max(rare.values()), set(_words(text)), _sayable(body, bounds)
    worth = {word: rare.get(word, unknown) * (counts[word] ** 0.5 + asked[word]) for word in counts.keys() - have}
    while left := {one: words for one, words in left.items() if len(text) + len(one) < most}:
        value = {one: sum(worth.get(word, 0) for word in words) / len(one) ** 0.8 for one, words in left.items()}
        best = max(value, key=lambda one: value[one])
        if value[best] <= 0:
            break
        words = left.pop(best)
        if not bounds.fault(f"{text} {best}"):
            text = f"{text} {best}"
            worth |= dict.fromkeys(words, 0.0)
    return text


@lru_cache(maxsize=1024)
def _sayable(body: str, bounds: Bounds) -> tuple[dict[str, frozenset[str]], Counter[str]]:
    """Parts of a body that may stand in a description, each with its words, and how often the body has each word."""
    plain, alone = _PLAIN.sub(r"\1", body), bounds._replace(longest=_LONGEST)
    return {one: frozenset(_words(one)) for one in _parts(plain) if not alone.fault(one)}, Counter(_words(plain))


def _shortened(text: str, rare: Mapping[str, float]) -> str:
    """Without the sentence whose words say least for its length."""
    some = _SENTENCE.split(text)

    def worth(one: str) -> float:
        others = {word for other in some if other is not one for word in _words(other)}
        return sum(rare.get(word, 0.0) for word in set(_words(one)) - others) / len(one)

    least = min(some, key=worth)
    return " ".join(one for one in some if one is not least)


class LetterModel(ChatModel):
    """A simulated chat model: reads the list of skills in its instructions and names the one whose letters, in
    threes, are most like those of the request. It opens none, by chance, in `luck` of its answers."""

    name = "simulated:letters"
    endpoint = "this process"

    def __init__(self, luck: float = 0.05) -> None:
        self._luck = luck
        self._listed: tuple[str, dict[str, int], dict[str, list[str]]] = ("", {}, {})
        """The list that was read last: how many threes each skill has, and which skills have each three."""

    async def complete(self, request: ChatRequest) -> Reply:
        if self._listed[0] != request.messages[0].text:  # many requests see the same list
            self._listed = self._read(request.messages[0].text)
        _, sizes, holders = self._listed
        asked, alike = request.messages[-1].text, dict.fromkeys(sizes, 0.0)
        for three in _threes(asked) & holders.keys():
            for name in holders[three]:
                alike[name] += math.log(1 + len(sizes) / len(holders[three])) / sizes[name] ** 0.35
        best = max(alike, key=lambda name: (round(alike[name], 9), name), default="none")
        draw = int(digest([asked, request.seed])[:8], 16) / 16**8
        return Reply(text="none" if draw < self._luck else best, simulated=True)

    def _read(self, text: str) -> tuple[str, dict[str, int], dict[str, list[str]]]:
        lines = (line[2:].partition(": ") for line in text.splitlines() if line.startswith("- "))
        listed = {name: _threes(said) for name, _, said in lines if said}
        holders: dict[str, list[str]] = {}
        for name, threes in listed.items():
            for three in threes:
                holders.setdefault(three, []).append(name)
        return text, {name: len(threes) for name, threes in listed.items()}, holders


def _threes(text: str) -> frozenset[str]:
    folded = f" {' '.join(_words(text))} "
    return frozenset(folded[start : start + 3] for start in range(len(folded) - 2))


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


async def run(folder: Path, judge: str, salt: str) -> dict[str, Any]:
    """Train all descriptions and measure both catalogues on both parts."""
    published, places = read_catalogue(folder), [path.parent for path in sorted(folder.glob("*/SKILL.md"))]
    skills = {read_entry(place / DOCUMENT)[0]: load_skill(place) for place in places}
    seen, kept = divided(askable(of_skills(places), published)[0], salt)
    by, models = (LEXICAL, Given()) if judge == "lexical" else (AgentSection(), Given(target=LetterModel()))
    optimizer = DescribingOptimizer if judge == "lexical" else EvenOptimizer
    with tempfile.TemporaryDirectory() as runs:
        parts: dict[Split, list[Request]] = {"train": seen, "val": seen}
        config = make_config({**SETTINGS, "run": {"folder": runs, "name": "trained"}})
        config, given = training(config, parts, SkillsAtHand(published, "whole"), by, skills)
        given |= {**models, "optimizer": optimizer(described(published), skills)}
        trained = trained_descriptions(await Trainer(config, **given).atrain(), skills)
        result: dict[str, Any] = {
            "judge": judge,
            "salt": salt,
            "changed": sum(published[name] != trained[name] for name in published),
            "characters": [sum(map(len, one.values())) for one in (published, trained)],
        }
        for part, requests in (("training", seen), ("held_out", kept)):
            before, after = [
                await ameasure_triggers(
                    make_config({"run": {"folder": runs, "name": f"{part}-{number}"}, "limits": {"concurrency": 1}}),
                    requests,
                    SkillsAtHand(catalogue, "whole"),
                    by,
                    **models,
                )
                for number, catalogue in enumerate((published, trained))
            ]
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


def table(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A row for each judge and part of the requests, means over divisions."""
    rows: list[list[Any]] = []
    for judge, part in product(("lexical", "listing"), ("training", "held_out")):
        some = [one[part] for one in found if one["judge"] == judge]
        pairs = {key: [fmean(one[key][at] for one in some) for at in (0, 1)] for key in ("opened", "quiet")}
        gains = [one["gain"][0] for one in some]
        false = [round(fmean(one["false_openings"][at] for one in some)) for at in (0, 1)]
        shown = [" → ".join(f"{value:.2f}" for value in pair) for pair in pairs.values()]
        row = [_JUDGES[judge], part.replace("_", " "), shown[0], f"{fmean(gains):+.3f}", f"{min(gains):+.2f}"]
        rows.append([*row, " → ".join(map(str, false)), shown[1]])
    columns = ["judge", "requests", "opened", "gain", "least", "false openings", "stays quiet"]
    before, after = (max(one["characters"][at] for one in found) for at in (0, 1))
    note = (
        f"Published → trained, means over {len(found) // 2} divisions; {before:,} characters before, at most "
        f"{after:,} after. False openings: of a wrong skill, or of one that a request forbids. `stays quiet`: of "
        f"requests that forbid a skill, or need none."
    )
    return {"caption": "343 published descriptions, 780 requests", "columns": columns, "rows": rows, "note": note}


def one(work: tuple[Path, str, str]) -> dict[str, Any]:
    """A training in a process of its own."""
    return asyncio.run(run(*work))


def main() -> None:
    """Run all and write results."""
    parser = command_line(__doc__, "triggers")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--divisions", default="alpha,beta,gamma,delta,epsilon")
    args = parser.parse_args()
    with ProcessPoolExecutor(2) as pool:
        works = product([args.folder], ("listing", "lexical"), args.divisions.split(","))
        found = list(pool.map(one, works))
    shown = table(found)
    for row in shown["rows"]:
        print(*row, sep="\t")
    words = ["triggers", "../shared/data/skills"]
    write_results(args.out, "Descriptions of real skills", words, [shown], runs=found)


if __name__ == "__main__":
    main()
