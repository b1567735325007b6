"""What notebooks show of results."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from etude import Comparison, Skill, Summary, diff_skills
from etude.records.summary import Cost, Flip, Interval, NoSkill, SkillScores
from two_skills import A, B, World

HOSTILE = (
    "</pre><script>alert(1)</script><img src=x onerror='alert(2)'>\"' style=\"x\" &lt;b&gt; \x1b[31m\u202e\ud800"
)
TAGS = {"div", "b", "span", "table", "tr", "th", "td", "details", "summary"}


class Page(HTMLParser):
    """What a browser would make of it: tags that are closed, their attributes, the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data}\n"


def scores(text: str, mean: float) -> SkillScores:
    found = Interval(mean=mean, low=mean - 0.1, high=mean + 0.1, n=30)
    return SkillScores(skill=text, hash=str(mean), val=found, test=found)


def summary(folder: Path, name: str = "first", **more: Any) -> Summary:
    texts = {"before.md": f"Same.\n{name}\n", "after.md": f"Same.\nNew {name}\n"}
    for file, text in texts.items():
        (folder / file).write_text(text, errors="replace")
    counts = dict.fromkeys(("steps", "accepted", "rejected", "skipped", "missed_edits", "voids"), 2)
    given: dict[str, Any] = {"folder": str(folder), "simulated": False, "metric": "hard", "verdict": "ship"}
    given |= {"initial": scores("before.md", 0.3), "best": scores("after.md", 0.7), "cost": Cost()}
    return Summary(name=name, **counts, **{**given, **more})


def page_of(shown: Any) -> Page:
    html = shown._repr_html_()
    html.encode()
    page = Page(html)
    assert page.open == []
    assert html.count("<table ") == html.count("color:inherit")  # some pages are dark
    assert page.tags <= TAGS
    assert not [name for name in page.attributes if name.startswith("on") or name in ("src", "href")]
    return page


def test_a_summary_shows_verdict_scores_steps_and_what_changed(tmp_path: Path) -> None:
    page = page_of(summary(tmp_path))
    text = " ".join(page.text.split())
    assert text.startswith("ship run first initial best validation 0.30 [0.20, 0.40], n=30 0.70 [0.60, 0.80], n=30")
    assert "what changed in the skill (+1 −1 lines)" in text
    assert "- first + New first" in text
    assert "cost: unknown (no price set)" in text


def test_what_the_best_skill_is_worth_against_none_is_shown(tmp_path: Path) -> None:
    bare = Interval(mean=0.6, low=0.5, high=0.7, n=30)
    none = NoSkill(score=bare, gain=Interval(mean=0.1, low=-0.1, high=0.3, n=30), voids=0)
    text = " ".join(page_of(summary(tmp_path, no_skill=none)).text.split())
    assert "no skill: without 0.60, with the best skill 0.70: +0.10 [-0.10, +0.30]" in text
    assert "the test does not show that the skill helps" in text


def test_a_summary_without_its_run_folder_is_still_shown(tmp_path: Path) -> None:
    shown = summary(tmp_path)
    (tmp_path / "after.md").unlink()
    assert "what changed" not in page_of(shown).text


@pytest.mark.parametrize("name", ["ship", "inconclusive", "do not ship"])
def test_a_comparison_shows_verdict_difference_and_the_tasks_behind_it(tmp_path: Path, name: Any) -> None:
    found = World(tmp_path, {"A0": "nnnnnnyy", "B0": "yyyyyyny"}).compare().model_copy(update={"verdict": name})
    text = " ".join(page_of(found).text.split())
    assert text.startswith(f"{name} B in place of A skill score A a 0.25 [")
    assert "6 better under B task A B t0 0.00 1.00" in text
    assert "1 worse under B task A B t6 1.00 0.00" in text


def test_nothing_from_outside_is_more_than_text(tmp_path: Path) -> None:
    found = World(tmp_path, {"A0": "nnnnnnyy", "B0": "yyyyyyny"}).compare()
    named = {side: getattr(found, side).model_copy(update={"skill": HOSTILE}) for side in "ab"}
    hostile: list[Any] = [
        Comparison.model_construct(**{**dict(found), **named, "gained": (Flip(task=HOSTILE, a=0, b=1),)}),
        summary(tmp_path, HOSTILE, stopped=HOSTILE, withheld=HOSTILE),
        diff_skills(Skill(name=HOSTILE, text=HOSTILE), Skill(name=HOSTILE, text=f"{HOSTILE}\n{HOSTILE}")),
    ]
    for shown in hostile:
        text = page_of(shown).text
        assert "<script>alert(1)</script>" in text
        assert "&lt;b&gt; <U+001B>[31m<U+202E><U+D800>" in text or "&lt;b&gt; <U+001B>[31m<U+202E>?" in text


def test_a_diff_prints_as_a_patch() -> None:
    diff = diff_skills(A, B)
    assert str(diff).splitlines()[-2:] == ["-Skill A.", "+Skill B."]
    assert repr(diff) == "<SkillDiff 'a' -> 'b': +1 -1 lines>"
    assert page_of(diff_skills(A, A)).text == "the texts are equal\n"
