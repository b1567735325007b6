"""The page in a real Chromium: watched live, as a file, with hostile content, by keyboard, audited."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from browser import WHY_NOT, browser, opened, shown, sized, there, told, until
from figures import Run, figures_agree
from reading import CONTROLS, LANDMARKS, Heard, layout
from sleep_proposals import offer
from sleep_proposals import project as made_project
from small_night import Small

from etude.cli.demo import make_project
from etude.simulation.endpoint import running_endpoint
from etude.sleep.adoption.rules import Answers, Evidence, Trial
from etude.sleep.page import Reviews
from etude.sleep.state import SleepState
from etude.sleep.tasks.mined import Quote
from etude.view.export import export_page
from etude.view.server import ViewServer, serving
from etude.view.shelf import Shelf

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not there(), reason=WHY_NOT)]

SCREENS = ("", "/skill", "/skill?line=9", "/skill/1", "/steps", "/steps/0001", "/tasks", "/tasks?split=test", "/cost")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo with a finished run of two epochs by each search."""
    folder = tmp_path_factory.mktemp("view") / "project"
    folder.mkdir()
    make_project(folder)
    for name, policy in (("demo", "evidence"), ("paper", "paper")):
        words = ["train", "etude.yaml", "--name", name, "--search.policy", policy, "--train.epochs", "2"]
        for role, dollars in (("target", "3"), ("optimizer", "15")):
            words += [f"--{role}.price.input", dollars, f"--{role}.price.output", dollars]
        subprocess.run([sys.executable, "-m", "etude", *words], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def chromium() -> Generator[Any]:
    with browser() as driver:
        yield driver


@pytest.fixture(scope="module")
def server(project: Path) -> Generator[ViewServer]:
    with serving(Shelf([], project / "runs")) as server:
        yield server


def etude(*words: str, folder: Path | None = None, **environ: str) -> "subprocess.Popen[str]":
    """The command, in a process of its own."""
    command = [sys.executable, "-m", "etude", *words]
    everything = {**os.environ, **environ}
    return subprocess.Popen(
        command, cwd=folder, env=everything, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


@pytest.mark.parametrize("name", ["demo", "paper"])
def test_every_screen_says_what_journal_and_files_say(
    chromium: Any, server: ViewServer, project: Path, name: str
) -> None:
    figures_agree(chromium, server.url, project / "runs" / name)
    assert told(chromium) == []


@pytest.mark.parametrize("name", ["demo", "paper"])
def test_the_same_as_a_file_that_is_opened_from_disk(chromium: Any, project: Path, tmp_path: Path, name: str) -> None:
    run = project / "runs" / name
    file = tmp_path / "report.html"
    file.write_text(export_page(Shelf([run], None)))
    figures_agree(chromium, file.as_uri(), run)
    assert told(chromium) == []
    asked_for = "return performance.getEntriesByType('resource').map((each) => each.name)"
    loaded = chromium.execute_script(asked_for)
    assert [name for name in loaded if not name.startswith(("data:", "file:"))] == []


def test_a_run_is_watched_from_its_first_to_its_last_event_over_a_restart_of_the_server(
    chromium: Any, project: Path, tmp_path: Path
) -> None:
    folder, token = tmp_path / "project", "a" * 32
    shutil.copytree(project, folder, ignore=shutil.ignore_patterns("runs"))
    (folder / "runs").mkdir()
    run, shelf = folder / "runs" / "live", Shelf([], folder / "runs")

    def calls() -> int:
        found = shown(chromium, ".band .spend b").replace(",", "")
        return int(found) if found.isdecimal() else 0

    with running_endpoint(latency=0.15) as endpoint:
        words = ["--train.epochs", "1", "--limits.concurrency", "4"]
        for role in ("target", "optimizer"):
            words += [f"--{role}.model", f"openai:{role}", f"--{role}.base_url", endpoint.url]
        server = ViewServer(shelf, 0, token)
        server.start()
        opened(chromium, f"{server.url}#/runs")
        assert "no run has begun yet" in shown(chromium, "main")
        with etude("train", "etude.yaml", "--name", "live", *words, folder=folder, OPENAI_API_KEY="none") as training:
            until(lambda: "live" in shown(chromium, "main table"))
            chromium.execute_script("location.hash = '#/runs/live'")
            until(lambda: "running" in shown(chromium, ".band"))
            counts = [0]
            for _ in range(3):
                counts.append(until(lambda: calls() > counts[-1] and calls()))
            until(lambda: "training tasks solved" in shown(chromium, ".band"))
            server.stop()
            until(lambda: "does not answer" in shown(chromium, ".connection"))
            server = ViewServer(shelf, server.port, token)
            server.start()
            until(lambda: shown(chromium, ".connection") == "")
            until(lambda: calls() > counts[-1])
            told_by, _ = training.communicate(timeout=240)
        assert training.returncode == 0, told_by
    ((sent,),) = Run(run).asked("SELECT COUNT(*) FROM spend")
    until(lambda: "finished" in shown(chromium, ".band .state") and calls() == sent)
    figures_agree(chromium, server.url, run)
    server.stop()
    told(chromium)  # that the server was gone


def test_scores_of_a_run_that_was_continued_are_said_to_be_old(chromium: Any, project: Path, tmp_path: Path) -> None:
    run = tmp_path / "demo"
    shutil.copytree(project / "runs" / "demo", run)
    summary = json.loads((run / "summary.json").read_text())
    (run / "summary.json").write_text(json.dumps({**summary, "stopped": "limits.calls = 900 is reached"}))
    with serving(Shelf([run], None)) as server:
        opened(chromium, f"{server.url}#/runs/demo")
        assert "continued since" not in shown(chromium, "main")
        with (run / "events.jsonl").open("a") as log:
            started = next(
                line for line in (run / "events.jsonl").read_text().splitlines() if '"run_started"' in line
            )
            log.write(f"{started}\n")
        until(lambda: "continued since" in shown(chromium, "main"))


def test_rules_of_a_night_are_decided_on_one_by_one(chromium: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    place = made_project(tmp_path)
    offer(place, [(place.memory, "- Take me.\n- Change me.\n- Turn me down.\n- Leave me.\n")], night="0001")
    reviews = Reviews(place.root, SleepState(place.state))
    with serving(Shelf([], tmp_path / "none", reviews=reviews)) as server:
        opened(chromium, f"{server.url}#/nights/1")

        def press(rule: str, button: str) -> None:
            chromium.execute_script(
                "const rules = [...document.querySelectorAll('.rule')];"
                "const rule = rules.find((each) => each.innerText.includes(arguments[0]));"
                "[...rule.querySelectorAll('button')].find((each) => each.textContent === arguments[1]).click()",
                rule,
                button,
            )

        press("Take me.", "take")
        until(lambda: "Take me." in place.memory.read_text())
        until(lambda: shown(chromium, "main").count("adopted") == 1)
        press("Change me.", "take in other words")
        field = until(lambda: chromium.find_elements("css selector", "textarea"))[0]
        field.send_keys(Keys.CONTROL + "a")
        field.send_keys("- Changed.")
        press("Change me.", "take these words")
        until(lambda: "Changed." in place.memory.read_text())
        press("Turn me down.", "turn down")
        until(lambda: "rejected" in shown(chromium, "main"))
        states = {rule.text: rule.state for rule in reviews.night(1).rules}
        assert [states["- Take me."], states["- Turn me down."], states["- Leave me."]] == [
            "adopted",
            "rejected",
            "waits",
        ]
        assert place.memory.read_text().count("me.") == 1
    told(chromium)


def test_the_screen_of_a_night_says_what_its_report_says(chromium: Any, tmp_path: Path) -> None:
    small = Small(tmp_path, n=8)
    for _ in range(2):  # one finds a rule, one leaves it waiting
        small.night({"max_tasks": 4, "memory": True})
    with serving(Shelf([], tmp_path / "none", reviews=Reviews(small.project, small.state))) as server:
        for night in small.state.numbers():
            report = (small.state.night(night) / "report.md").read_text()
            rules = re.findall(r"^\d+\. (.*)  \[(\w+)\]", report, re.MULTILINE)
            lines = re.findall(r"^   (.*)$", report.partition("<details>")[0], re.MULTILINE)
            statistics = report.partition("```text")[2].partition("```text")[2].partition("```")[0].split("\n")
            opened(chromium, f"{server.url}#/nights/{night}")
            text = str(chromium.execute_script("return document.querySelector('main').textContent"))
            assert rules, night
            assert statistics, night
            for words in (*(part for rule in rules for part in rule), *lines, *statistics):
                assert words in text, words
            assert f"{len(rules)} of {len(rules)} rule" in text


def test_a_run_is_stopped_from_the_page(chromium: Any, project: Path, tmp_path: Path) -> None:
    words = ["--run.folder", str(tmp_path), "--name", "long", "--train.epochs", "200", "--limits.concurrency", "1"]
    with (
        serving(Shelf([], tmp_path)) as server,
        etude("train", str(project / "etude.yaml"), *words, "--search.policy", "paper") as training,
    ):
        until(lambda: (tmp_path / "long" / "events.jsonl").exists())
        opened(chromium, f"{server.url}#/runs/long")
        until(lambda: chromium.find_elements("css selector", ".band button"))[0].click()
        assert training.communicate(timeout=60)[0]
        assert training.returncode == 130
        until(lambda: "stopped" in shown(chromium, ".band .state"))


ATTACKS = (
    "<script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>",
    "</script><script>window.hit=1</script>",
    "<!-- ",
    "-->",
    "<svg onload=window.hit=1>",
    "{{constructor.constructor('window.hit=1')()}}",
    "${window.hit=1}",
    "`",
    "javascript:window.hit=1",
    "\u202ereversed\u2066",
    "\x1b[31m\x07\x00\x08",
    "<iframe srcdoc='<script>parent.hit=1</script>'>",
    "&lt;b&gt;",
    "a\u0301" * 50,
    "__proto__",
    "constructor",
    "%2e%2e/%00",
    "' onmouseover='window.hit=1",
    '" autofocus onfocus="window.hit=1',
)
WRITTEN = {"input", "gold", "text", "answer", "feedback", "reason", "content", "target", "detail", "reasoning", "why"}
"""Where a model, a task or a tool can write."""


def spoiled(value: Any, number: list[int], key: str = "") -> Any:
    """The same with a hostile string wherever somebody can write one; `number` counts them."""
    if isinstance(value, dict):
        return {name: spoiled(each, number, name) for name, each in value.items()}
    if isinstance(value, list):
        return [spoiled(each, number, key) for each in value]
    if not isinstance(value, str) or key not in WRITTEN:
        return value
    number[0] += 1
    return f"{ATTACKS[number[0] % len(ATTACKS)]} {number[0]}"


@pytest.fixture(scope="module")
def hostile(project: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A run whose texts are hostile, and how many there are."""
    run = tmp_path_factory.mktemp("hostile") / "<img src=x onerror=window.hit=1>"
    shutil.copytree(project / "runs" / "demo", run)
    number = [0]
    for file in sorted(run.rglob("*.json")):
        data = json.loads(file.read_text())
        file.write_text(json.dumps(spoiled(data, number)))
    first = run / "steps" / "0001" / "rollout.json"
    attempts = json.loads(first.read_text())
    attempts[0]["trajectory"]["answer"] = attempts[0]["score"]["feedback"] = "x" * 1_000_000
    attempts[0]["task"]["id"] = "y" * 1_000_000
    template = json.dumps(attempts[1])
    for at in range(10_000 - min(number[0], 10_000)):
        extra = json.loads(template)
        extra["id"], extra["task"]["id"] = f"a-{at:08x}", f"{ATTACKS[at % len(ATTACKS)]} {at}"
        extra["score"]["feedback"] = f"{ATTACKS[at % len(ATTACKS)]} {at}"
        attempts.append(extra)
        number[0] += 2
    first.write_text(json.dumps(attempts))
    for file in (*run.glob("skills/*.md"), *run.rglob("candidate.*")):
        file.write_text("\n".join((*ATTACKS, file.read_text())))
    lines = (run / "events.jsonl").read_text().splitlines()
    events = [spoiled(json.loads(line), number) for line in lines]
    done = next(event for event in events if event["kind"] == "attempt_finished" and event["split"] == "train")
    events += [{**done, "attempt": each["id"], "task": each["task"]["id"]} for each in attempts]
    rolled = next(event for event in events if event["kind"] == "stage_finished" and event["stage"] == "rollout")
    events.append({**rolled, "step": 1, "attempts": [each["id"] for each in attempts]})
    events += [{**rolled, "kind": "notice", "level": "warning", "text": text, "hint": ""} for text in ATTACKS]
    (run / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return run, number[0]


def hostile_night(folder: Path) -> Reviews:
    """A night with a rule for each attack, which rests on more of the same."""
    place = made_project(folder)
    rules = {f"- Rule {number} {text}": text for number, text in enumerate(ATTACKS)}
    found: dict[str, Evidence] = {}
    for rule, text in rules.items():
        example = Answers(asked=text, before=f"{text} a", after=f"{text} b")
        quote = Quote.model_validate({"session": {"source": text, "id": text}, "text": text})
        found[rule] = Evidence(trial=Trial(tasks=4, without=1, with_it=4, example=example), quotes=(quote,))
    offer(place, [(place.memory, "".join(f"{rule}\n" for rule in rules))], night="0001", evidence=found)
    return Reviews(place.root, SleepState(place.state))


def test_ten_thousand_hostile_strings_execute_nothing_and_break_no_layout(
    chromium: Any, hostile: tuple[Path, int], tmp_path: Path
) -> None:
    run, number = hostile
    assert number >= 10_000
    chromium.get("about:blank")  # the page of an earlier test still asks for its server
    told(chromium)
    shelf = Shelf([run], None, reviews=hostile_night(tmp_path))
    file = tmp_path / "report.html"
    file.write_text(export_page(shelf))
    huge, other, *_ = json.loads((run / "steps/0001/rollout.json").read_text())
    name = chromium.execute_script("return encodeURIComponent(arguments[0])", run.name)
    of_run = (*SCREENS, *(f"/attempts/{each['id']}" for each in (huge, other)))
    screens = ["runs", *(f"runs/{name}{screen}" for screen in of_run)]
    with serving(shelf) as server:
        for url, more in ((server.url, ["nights", "nights/1"]), (file.as_uri(), [])):
            for wide in (360, 1280):
                sized(chromium, wide, 800)
                for screen in (*screens, *more, f"runs/{name}/{name}/{name}"):
                    opened(chromium, f"{url}#/{screen}")
                    found = chromium.execute_script(
                        "const strange = document.querySelectorAll('main img, main iframe, main script').length;"
                        "return {hit: window.hit ?? 0, wide: document.documentElement.scrollWidth, strange}"
                    )
                    assert found == {"hit": 0, "wide": wide, "strange": 0}, screen
    sized(chromium, 1280, 900)
    assert [text for text in told(chromium) if "favicon" not in text and "404" not in text] == []


def axe() -> Path | None:
    """The audit's script, where it was installed."""
    path = Path(
        os.environ.get("ETUDE_AXE", Path(__file__).parents[2] / ".tools/axe/node_modules/axe-core/axe.min.js")
    )
    return path if path.exists() else None


@pytest.fixture(scope="module")
def site(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Generator[list[str]]:
    """The address of every screen: those of runs and those of nights."""
    place = made_project(tmp_path_factory.mktemp("night"))
    offer(place, [(place.memory, "- Take me.\n- Leave me.\n")], night="0001")
    attempt = json.loads((project / "runs/demo/steps/0001/rollout.json").read_text())[0]["id"]
    of_run = [f"runs/demo{screen}" for screen in (*SCREENS, f"/attempts/{attempt}")]
    reviews = Reviews(place.root, SleepState(place.state))
    with serving(Shelf([], project / "runs", reviews=reviews)) as server:
        yield [f"{server.url}#/{screen}" for screen in ("runs", *of_run, "nights", "nights/1")]


@pytest.mark.skipif(axe() is None, reason="needs axe-core: npm install --prefix .tools/axe axe-core")
@pytest.mark.parametrize("dark", [False, True])
def test_an_audit_finds_nothing_serious(site: list[str], dark: bool) -> None:
    script = axe()
    assert script is not None
    with browser(dark=dark) as driver:
        for wide in (360, 1280):
            sized(driver, wide, 900, dark=dark)
            for url in site:
                opened(driver, url)
                # The audit runs by way of the driver, so no policy of the page has to be opened for it.
                driver.execute_script(script.read_text())
                found = driver.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
                assert [
                    (each["id"], [node["html"][:200] for node in each["nodes"][:3]])
                    for each in found["violations"]
                    if each["impact"] in ("serious", "critical")
                ] == [], (url, wide)


@pytest.mark.parametrize(("wide", "high", "scale"), [(640, 450, 2), (320, 640, 1)])
def test_a_window_at_double_zoom_or_of_320_pixels_has_all_text_and_scrolls_one_way(
    chromium: Any, site: list[str], wide: int, high: int, scale: int
) -> None:
    sized(chromium, wide, high, scale=scale)
    for url in site:
        opened(chromium, url)
        found = layout(chromium)
        assert (found["wide"], found["cut"], found["over"]) == (0, [], []), url
    sized(chromium, 1280, 900)


def test_text_of_double_size_is_twice_as_large_everywhere_and_none_is_hidden(chromium: Any, site: list[str]) -> None:
    with browser(text=32) as driver:
        for url in site:
            opened(chromium, url)
            opened(driver, url)
            usual, double = layout(chromium), layout(driver)
            assert (double["wide"], double["cut"], double["over"]) == (0, [], []), url
            assert {size / 2 for size in double["sizes"]} <= {*usual["sizes"]}, url


def test_each_screen_can_be_heard(chromium: Any, site: list[str]) -> None:
    titles: set[str] = set()
    for url in site:
        opened(chromium, url)
        heard = Heard(chromium)
        assert all(heard.names(*CONTROLS, "image", "region", "navigation")), url
        assert all(map(all, heard.headers())), url
        assert all(heard.headers()), url
        first, *levels = heard.levels()
        assert first == 1, url
        assert 1 not in levels, url
        assert all(after <= before + 1 for before, after in zip([first, *levels], levels, strict=False)), url
        assert [len(heard.names(role)) for role in LANDMARKS] == [1, 1, 1], url
        assert heard.names("status"), url
        titles.add(*heard.names("RootWebArea"))
        if url.endswith("/tasks"):
            assert any(re.match(r"\d+: (solved|failed)", name) for name in heard.names("image"))
    assert len(titles) >= len(site) - 4  # a chosen line or split is the same screen


def test_what_goes_wrong_is_said_to_who_listens(chromium: Any, project: Path) -> None:
    server = ViewServer(Shelf([], project / "runs"), 0)
    server.start()
    opened(chromium, f"{server.url}#/runs/demo")
    chromium.execute_script("location.hash = '#/runs/none/cost'")
    until(lambda: "there is no run 'none'" in Heard(chromium).text("alert"))
    assert "does not answer" not in Heard(chromium).text("status")
    server.stop()
    until(lambda: "does not answer" in Heard(chromium).text("status"))
    chromium.get("about:blank")
    told(chromium)


def test_everything_can_be_reached_by_keyboard(chromium: Any, server: ViewServer, project: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    def press(*keys: str) -> None:
        for key in keys:
            ActionChains(chromium).send_keys(key).perform()

    def at() -> str:
        return str(chromium.execute_script("return location.hash"))

    opened(chromium, f"{server.url}#/runs")
    press("j")
    focused = chromium.execute_script("return document.activeElement.textContent")
    press(Keys.ENTER)
    until(lambda: at() == f"#/runs/{focused}")
    opened(chromium, f"{server.url}#/runs/demo")
    for key, screen in (("2", "skill"), ("3", "steps"), ("4", "tasks"), ("5", "cost"), ("1", "")):
        press(key)
        until(lambda screen=screen: at() == f"#/runs/demo{'/' if screen else ''}{screen}")
    opened(chromium, f"{server.url}#/runs/demo/steps")
    press("j", "j", "k", "j", Keys.ENTER)
    until(lambda: at() == "#/runs/demo/steps/0002")
    until(lambda: chromium.execute_script("return document.activeElement.id") == "content")
    opened(chromium, f"{server.url}#/runs/demo/skill")
    press("j", "j", Keys.ENTER)
    until(lambda: shown(chromium, "aside h2") == "Line 2")
    opened(chromium, f"{server.url}#/runs/demo/skill")
    chromium.execute_script("document.querySelector('input[type=range]').focus()")
    press(Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    *_, third, _, _ = sorted(int(file.stem) for file in (project / "runs/demo/skills").glob("*.md"))
    until(lambda: at() == f"#/runs/demo/skill/{third}")
    opened(chromium, f"{server.url}#/runs/demo/tasks")
    press("/", "d", "a", "t", "e", "s")
    until(lambda: "find=dates" in at())
    opened(chromium, f"{server.url}#/runs/demo")
    reached: set[str] = set()
    for _ in range(60):
        press(Keys.TAB)
        reached.add(chromium.execute_script("return document.activeElement.textContent.trim()"))
    assert {
        "etude",
        "Run",
        "Skill",
        "Steps",
        "Tasks",
        "Cost",
        "the same as a table",
        "why each line is there",
    } <= reached


def test_names_of_tasks_are_cut_with_dots_and_stay_in_place_when_one_is_opened(
    chromium: Any, server: ViewServer
) -> None:
    sized(chromium, 390, 900)
    opened(chromium, f"{server.url}#/runs/demo/tasks")
    until(lambda: chromium.find_elements("css selector", ".heat [data-row]"))[0].click()
    until(lambda: chromium.find_elements("css selector", "aside"))
    cut = "[each.scrollWidth > each.clientWidth, getComputedStyle(each).textOverflow]"
    names = chromium.execute_script(f"return [...document.querySelectorAll('.heat [data-row]')].map((each) => {cut})")
    assert [True, "ellipsis"] in names
    assert {how for _, how in names} == {"ellipsis"}
    moved = "return [...document.querySelectorAll('.heat th')].map((each) => each.scrollLeft)"
    assert set(chromium.execute_script(moved)) == {0}
    sized(chromium, 1280, 900)
