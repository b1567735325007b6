"""Finding programs, giving them a skill and a login."""

import json
import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from etude.agents.program import ProgramAgent
from etude.errors import ConfigError, DataError
from etude.programs.claude_code import ClaudeCode
from etude.programs.codex import Codex
from etude.programs.command import CommandProgram
from etude.programs.installed import Installed, find_program, installed
from etude.programs.known import known_programs
from etude.programs.login import Login, find_login
from etude.programs.memory import available_mb
from etude.programs.message_log import MessageLog
from etude.programs.program import Order, install_skill, read_files
from etude.programs.trouble import after_reset, trouble
from etude.records import File, Skill
from etude.registry import BUILT_IN, find
from etude.sandbox import Finished
from etude.skill import load_skill, validate_skill
from rows import rows

BODY = "# Colours\n\nName them in lower case.\n"
SKILL = Skill(name="colours", text=f"---\nname: colours\ndescription: How to name colours.\n---\n\n{BODY}")


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def order(folder: Path, program: Installed | None = None, **more) -> Order:
    for name in ("home", "tmp", "work"):
        (folder / name).mkdir(exist_ok=True)
    defaults = {
        "installed": program or Installed(Path("/bin/x"), ("/bin/x",), ()),
        "prompt": "Which colour?",
        "skill": SKILL,
        "instructions": "Apply every rule.",
        "delivery": "inline",
        "home": folder / "home",
        "temporary": folder / "tmp",
        "workspace": folder / "work",
        "url": "http://127.0.0.1:9",
        "key": "sk-dummy",
        "model": "a-model",
        "seconds": 60.0,
    }
    return Order(**{**defaults, **more})


def finished(stdout: str = "", stderr: str = "", code: int | None = 0) -> Finished:
    return Finished(code=code, signal=None, stdout=stdout.encode(), stderr=stderr.encode(), cut=False, over="")


class TestFinding:
    def test_a_path_may_begin_with_the_home_folder(self, tmp_path, monkeypatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        path = script(tmp_path / "bin" / "codex", "#!/bin/sh\n")
        assert Codex().find("~/bin/codex").path == path
        command = CommandProgram(["~/bin/codex", "~/bin/codex", "~/none"]).find()
        assert command.path == path
        assert command.argv[-2:] == (str(path), "~/none")
        assert find_program("~/bin/codex", [tmp_path / "other"]) == path

    def test_a_program_that_is_not_there_is_an_error_with_a_command_that_installs_it(self) -> None:
        with pytest.raises(ConfigError) as caught:
            Codex().find("/no/such/codex")
        assert str(caught.value) == (
            "agent program '/no/such/codex' was not found\n"
            "hint: install it (npm install -g @openai/codex), or set agent.path to where it is"
        )

    def test_a_script_for_an_interpreter_that_is_missing_is_an_error(self, tmp_path) -> None:
        with pytest.raises(ConfigError, match="needs 'no-such-interpreter', which was not found"):
            installed(script(tmp_path / "pi", "#!/usr/bin/env no-such-interpreter\n"))

    def test_a_script_is_called_with_its_interpreter_and_sees_it(self, tmp_path, monkeypatch) -> None:
        runtime = script(tmp_path / "runtime" / "bin" / "nodelike", "#!/bin/sh\n")
        (tmp_path / "runtime" / "lib").mkdir()
        monkeypatch.setenv("PATH", str(runtime.parent))
        path = script(tmp_path / "node_modules" / "pi" / "cli.js", "#!/usr/bin/env nodelike\n")
        found = installed(path)
        assert found.argv == (str(runtime), str(path))
        assert set(found.readable) == {
            tmp_path / "node_modules",
            tmp_path / "runtime" / "bin",
            tmp_path / "runtime" / "lib",
        }

    def test_a_link_brings_what_it_leads_to(self, tmp_path) -> None:
        real = script(tmp_path / "node_modules" / "codex" / "bin" / "codex", "#!/bin/sh\n")
        link = tmp_path / "bin" / "codex"
        link.parent.mkdir()
        link.symlink_to(real)
        assert set(installed(link).readable) == {link.parent, tmp_path / "node_modules"}

    def test_a_program_in_a_persons_home_brings_nothing_but_itself(self, tmp_path, monkeypatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        path = script(tmp_path / "codex", "#!/bin/sh\n")
        assert installed(path).readable == (path,)


class TestVersions:
    def test_the_last_line_counts_and_a_changed_program_is_asked_again(self, tmp_path) -> None:
        path = script(tmp_path / "codex", "#!/bin/sh\necho a warning\necho codex 1.0\n")
        assert Codex().version(Codex().find(str(path))) == "codex 1.0"
        script(path, "#!/bin/sh\necho codex 2.0 >&2\n")
        os.utime(path, (1, 1))
        assert Codex().version(Codex().find(str(path))) == "codex 2.0"

    @pytest.mark.parametrize(
        ("text", "words"),
        [("#!/bin/sh\necho broken >&2; exit 3\n", "it ends with code 3: broken"), ("#!/bin/sh\n", "it says nothing")],
    )
    def test_a_program_that_does_not_start_is_an_error_with_its_words(self, tmp_path, text: str, words: str) -> None:
        path = script(tmp_path / "codex", text)
        with pytest.raises(ConfigError) as caught:
            Codex().version(Codex().find(str(path)))
        assert caught.value.message == f"agent program {str(path)!r} does not tell its version: {words}"


def test_the_programs_that_are_known_by_name_are_those_that_can_be_agents() -> None:
    kinds = {name: find("agents", name) for name in BUILT_IN["agents"] if name != "command"}
    agents = {name: kind.program for name, kind in kinds.items() if issubclass(kind, ProgramAgent)}
    assert {name: type(program) for name, program in known_programs().items()} == {
        name: type(program) for name, program in agents.items()
    }


class TestReading:
    def test_files_of_a_pattern_are_read_in_their_order_up_to_a_limit(self, tmp_path) -> None:
        for name in ("b/2.txt", "a/3.txt", "a/1.txt", "a/1.log", "a/c/4.txt"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(name)
        assert read_files(tmp_path, "*/*.txt") == b"a/1.txt\na/3.txt\nb/2.txt"
        assert read_files(tmp_path, "./a//3.txt") == b"a/3.txt"
        assert read_files(tmp_path, "*/*.txt", 9) == b"a/1.txt\na/\n"

    @pytest.mark.parametrize("linked", [".codex", ".codex/sessions", ".codex/sessions/a.txt"])
    def test_no_link_is_followed_wherever_it_stands(self, tmp_path, linked: str) -> None:
        """A program that put one there would have a person's own sessions told as its own."""
        mine, home = tmp_path / "me", tmp_path / "home"
        (mine / ".codex" / "sessions").mkdir(parents=True)
        (mine / ".codex" / "sessions" / "a.txt").write_text("mine")
        (home / linked).parent.mkdir(parents=True)
        (home / linked).symlink_to(mine / linked)
        assert (home / ".codex" / "sessions" / "a.txt").read_text() == "mine"
        assert read_files(home, ".codex/*/a.txt") == b""

    def test_what_cannot_be_read_is_passed_over(self, tmp_path) -> None:
        (tmp_path / "a").mkdir()
        os.mkfifo(tmp_path / "a" / "pipe")
        (tmp_path / "a" / "folder").mkdir()
        (tmp_path / "b").write_text("no folder")
        assert read_files(tmp_path, "*/*") == b""
        assert read_files(tmp_path / "none", "*") == b""


class TestSkills:
    def test_an_installed_skill_is_a_valid_folder(self, tmp_path) -> None:
        skill = Skill(name="colours", text=SKILL.text, files={"scripts/a.sh": File(data=b"ls", executable=True)})
        path = install_skill(skill, tmp_path)
        assert path == tmp_path / "colours" / "SKILL.md"
        assert load_skill(path.parent) == skill

    @pytest.mark.parametrize("name", ["skill", "My Skill: 1", "ä", "x" * 200])
    def test_a_skill_without_front_matter_gets_name_and_description(self, tmp_path, name: str) -> None:
        path = install_skill(Skill(name=name, text='\n- **Name**: them "so" # now\n\nMore.\n'), tmp_path)
        assert path is not None
        installed = load_skill(path.parent)
        assert validate_skill(installed) == []
        assert 'description: "Name**: them \\"so\\" # now"' in installed.text

    def test_an_empty_skill_is_not_installed(self, tmp_path) -> None:
        assert install_skill(Skill(text="---\nname: a\ndescription: b\n---\n"), tmp_path) is None

    @pytest.mark.parametrize(
        "odd", ['quote " and \\ back', "delete \x7f and tab \t.", "umlaut ä \U0001f534", "'''\"\"\""]
    )
    def test_odd_characters_survive_the_settings_of_codex(self, tmp_path, odd: str) -> None:
        import tomllib

        Codex().launch(order(tmp_path, skill=Skill(text=f"Rule: {odd}\n")))
        settings = tomllib.loads((tmp_path / "home" / ".codex" / "config.toml").read_text())
        assert f"Rule: {odd}" in settings["developer_instructions"]


class TestCommands:
    def test_without_placeholders_skill_and_task_come_on_standard_input(self, tmp_path) -> None:
        command = CommandProgram(["cat"])
        stdin = command.launch(order(tmp_path, command.find())).stdin.decode()
        assert stdin == f"# Skill\n\nApply every rule.\n\n{BODY}\n# Task\n\nWhich colour?"

    def test_a_task_that_is_too_long_for_an_argument_is_an_error(self, tmp_path) -> None:
        command = CommandProgram(["echo", "{prompt}"])
        with pytest.raises(DataError) as caught:
            command.launch(order(tmp_path, command.find(), prompt="x" * 140_000))
        assert str(caught.value) == (
            "a word of agent.command is longer than 131,071 bytes with this task in it\n"
            "hint: use {prompt_file}, or leave both out: the task then comes on standard input"
        )

    def test_an_answer_file_that_has_no_name_is_an_error(self) -> None:
        with pytest.raises(ConfigError, match=r"agent\.answer_file is not set"):
            CommandProgram(["cat", "{answer_file}"])

    def test_the_answer_is_read_from_the_file(self, tmp_path) -> None:
        command = CommandProgram(["cat"], "out/answer.txt")
        made = order(tmp_path, command.find())
        (tmp_path / "work" / "out").mkdir()
        (tmp_path / "work" / "out" / "answer.txt").write_text("red")
        assert command.read(finished("noise"), made).answer == "red"

    @pytest.mark.parametrize("link", ["out", "out/answer.txt"])
    def test_a_link_to_a_file_elsewhere_is_no_answer(self, tmp_path, link: str) -> None:
        command = CommandProgram(["cat"], "out/answer.txt")
        made = order(tmp_path, command.find())
        (tmp_path / "secret" / "out").mkdir(parents=True)
        (tmp_path / "secret" / "out" / "answer.txt").write_text("gold")
        (tmp_path / "work" / link).parent.mkdir(exist_ok=True)
        (tmp_path / "work" / link).symlink_to(tmp_path / "secret" / link)
        assert command.read(finished(), made).answer == ""

    def test_a_link_that_leads_to_itself_is_no_answer(self, tmp_path) -> None:
        command = CommandProgram(["cat"], "answer.txt")
        made = order(tmp_path, command.find())
        (tmp_path / "work" / "answer.txt").symlink_to("answer.txt")
        assert command.read(finished(), made).answer == ""

    @rows("name", ["/tmp/answer.txt", "../answer.txt", "", "."])
    def test_an_answer_file_outside_of_the_workspace_is_an_error(self, name: str) -> None:
        with pytest.raises(ConfigError) as caught:
            CommandProgram(["cat"], name)
        assert str(caught.value) == (
            f"agent.answer_file = {name!r} is not a file in the workspace\n"
            "hint: give a relative path without '..', as in 'out/answer.txt'"
        )

    def test_a_program_that_is_named_by_its_place_does_not_show_what_is_beside_it(
        self, tmp_path, monkeypatch
    ) -> None:
        script(tmp_path / "agent.sh", "#!/bin/sh\n")
        (tmp_path / "tasks.jsonl").write_text("gold")
        monkeypatch.chdir(tmp_path)
        for word in ("./agent.sh", str(tmp_path / "agent.sh")):
            assert CommandProgram([word]).find().readable == (tmp_path / "agent.sh",)
        tool = script(tmp_path / "bin" / "agent", "#!/bin/sh\n")
        assert CommandProgram([str(tool)]).find().readable == (tool.parent,)

    def test_a_command_that_fails_has_its_words_for_an_error(self, tmp_path) -> None:
        command = CommandProgram(["cat"])
        made = order(tmp_path, command.find())
        assert command.read(finished("half an answer", "it broke", code=3), made).error == "it broke"
        assert command.read(finished(code=3), made).error == "it ended with code 3"
        assert command.read(finished("red", "a warning"), made).error == ""


class TestLogins:
    @pytest.mark.parametrize("renew", [False, True])
    def test_a_login_is_lent_and_a_renewed_one_given_back_where_the_user_says_so(self, tmp_path, renew: bool) -> None:
        mine = tmp_path / "me" / ".codex" / "auth.json"
        mine.parent.mkdir(parents=True)
        mine.write_text('{"token": 1}')
        home = tmp_path / "home"
        home.mkdir()
        with find_login(Codex(), {}, tmp_path / "me", renew=renew).lent(home):
            place = home / ".codex" / "auth.json"
            assert place.read_text() == '{"token": 1}'
            assert place.stat().st_mode & 0o777 == 0o600
            place.write_text('{"token": 2}')
        assert json.loads(mine.read_text()) == {"token": 2 if renew else 1}
        assert sorted(path.name for path in mine.parent.iterdir()) == ["auth.json"]

    @pytest.mark.parametrize(
        "left",
        [
            *("", '{"tokens"', "[]", "{}", '{"tokens": {}, "mode": "a"}', '{"tokens": {"access": ""}, "mode": "a"}'),
            *('{"tokens": {"access": 7}, "mode": "a"}', '{"tokens": {"access": "t"}}', None),
        ],
    )
    def test_what_is_not_a_whole_login_is_not_given_back(self, tmp_path, left: str | None) -> None:
        whole = '{"tokens": {"access": "t"}, "mode": "a"}'
        mine = tmp_path / "auth.json"
        mine.write_text(whole)
        home = tmp_path / "home"
        home.mkdir()
        with Login({}, {"auth.json": mine}, renew=True).lent(home):
            (home / "auth.json").unlink()
            if left is not None:
                (home / "auth.json").write_text(left)
        assert mine.read_text() == whole

    def test_a_login_that_its_owner_changed_meanwhile_stays(self, tmp_path) -> None:
        mine, home = tmp_path / "auth.json", tmp_path / "home"
        mine.write_text('{"token": 1}')
        home.mkdir()
        with Login({}, {"auth.json": mine}, renew=True).lent(home):
            (home / "auth.json").write_text('{"token": 2}')
            mine.write_text('{"token": 3}')
        assert mine.read_text() == '{"token": 3}'

    def test_its_tokens_are_secrets_the_renewed_ones_too(self, tmp_path) -> None:
        mine, home = tmp_path / "auth.json", tmp_path / "home"
        mine.write_text('{"openai": {"type": "oauth-login", "access": "first-of-all", "expires": 123456789}}')
        home.mkdir()
        login = Login({"CODEX_API_KEY": "of-the-variable"}, {"auth.json": mine})
        with login.lent(home):
            (home / "auth.json").write_text('{"openai": {"refresh": "second-of-all"}}')
        text = "first-of-all, second-of-all, of-the-variable, oauth-login"
        assert login.secrets.hide(text) == "[redacted:login], [redacted:login], [redacted:CODEX_API_KEY], oauth-login"

    def test_a_link_in_its_place_is_not_followed(self, tmp_path) -> None:
        mine, other, home = tmp_path / "auth.json", tmp_path / "other.json", tmp_path / "home"
        mine.write_text('{"token": 1}')
        other.write_text('{"token": 3}')
        home.mkdir()
        with Login({}, {"auth.json": mine}, renew=True).lent(home):
            (home / "auth.json").unlink()
            (home / "auth.json").symlink_to(other)
        assert mine.read_text() == '{"token": 1}'

    def test_a_link_in_the_place_of_its_folder_is_not_followed_either(self, tmp_path) -> None:
        mine, other, home = tmp_path / "mine.json", tmp_path / "other", tmp_path / "home"
        mine.write_text('{"token": 1}')
        other.mkdir()
        (other / "auth.json").write_text('{"token": 3}')
        home.mkdir()
        with Login({}, {".codex/auth.json": mine}, renew=True).lent(home):
            (home / ".codex").rename(home / "moved")
            (home / ".codex").symlink_to(other)
        assert mine.read_text() == '{"token": 1}'

    def test_variables_count_as_a_login(self, tmp_path) -> None:
        login = find_login(ClaudeCode(), {"CLAUDE_CODE_OAUTH_TOKEN": "t", "OTHER": "o"}, tmp_path)
        assert login.variables == {"CLAUDE_CODE_OAUTH_TOKEN": "t"}


class TestTelling:
    def test_a_call_at_the_end_is_no_last_word(self) -> None:
        telling = MessageLog()
        telling.say("I look.")
        telling.call("1", "bash", {})
        assert telling.last_text == ""


class TestTrouble:
    @rows(
        ("words", "kind"),
        [
            ("unexpected status 401 Unauthorized: Incorrect API key provided", "refused"),
            ("Failed to authenticate. API Error: 401 invalid x-api-key", "refused"),
            ("Not logged in \u00b7 Please run /login", "refused"),
            ("Your access token could not be refreshed because your refresh token was already used.", "refused"),
            ("OAuth token has expired. Please obtain a new token.", "refused"),
            ("The 'gpt-9' model is not supported when using Codex with a ChatGPT account.", "refused"),
            ("There's an issue with the selected model (x). It may not exist or you may not have access.", "refused"),
            ("The 'gpt-9' model requires a newer version of Codex. Please upgrade", "refused"),
            ("exceeded retry limit, last status: 429 Too Many Requests", "busy"),
            ("refresh_token_reused", "refused"),
            ("token_expired", "refused"),
            ("You've hit your usage limit. Try again at 5 PM.", "used up"),
            ("You've hit your usage limit. Upgrade to Pro or try again in 2 days 17 hours.", "used up"),
            ("Claude AI usage limit reached|1749924000", "used up"),
            ("5-hour limit reached \u2219 resets 3pm", "used up"),
            ("You've hit your session limit \u00b7 resets 8:30pm (Asia/Tokyo)", "used up"),
            ("429: too many requests, try again in 3 hours", "used up"),
            ("Rate limit reached. Please try again in 20s.", "busy"),
            ("You exceeded your current quota: 15 requests per minute. Please retry in 31s.", "busy"),
            ("You have exhausted your capacity on this model. Your quota will reset after 2h13m4s.", "used up"),
            ("[API Error: You have exhausted your daily quota on this model.]", "used up"),
            ("Quota exceeded for metric 'requests' and limit 'requests per day'", "used up"),
            ("You have exceeded your premium request allowance. Resets on December 1.", "used up"),
            ("Free usage exceeded, subscribe to a plan", "used up"),
            ("You're out of extra usage \u00b7 resets 2am (UTC)", "used up"),
            ("Credit balance is too low", "used up"),
            ("Limit reached \u00b7 resets 2am (America/New_York) \u00b7 /upgrade to increase", "used up"),
            ("You have run out of premium requests.", "used up"),
            ("402: Insufficient balance", "used up"),
            ("The model has reached its capacity, please try again", "other"),
            ("API Error: 529 Overloaded", "busy"),
            ("Prompt is too long", "rejected"),
            ("stream disconnected before completion", "other"),
            ("API Error: 500 internal", "other"),
        ],
    )
    def test_programs_say_in_many_words_what_is_wrong(self, words: str, kind: str) -> None:
        assert trouble(words) == kind


class TestMemory:
    def test_a_container_has_no_more_than_its_limit_leaves(self, tmp_path) -> None:
        (tmp_path / "meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable:    8192000 kB\n")
        assert available_mb(tmp_path, tmp_path) == 8000
        (tmp_path / "memory.max").write_text(f"{2000 * 2**20}\n")
        (tmp_path / "memory.current").write_text(f"{500 * 2**20}\n")
        assert available_mb(tmp_path, tmp_path) == 1500
        (tmp_path / "memory.max").write_text("max\n")
        assert available_mb(tmp_path, tmp_path) == 8000

    def test_elsewhere_there_is_a_guess(self, tmp_path) -> None:
        assert available_mb(tmp_path, tmp_path) > 0


@pytest.mark.skipif(shutil.which("node") is None or shutil.which("npm") is None, reason="no node here")
def test_the_script_that_installs_programs_is_quick_when_all_is_there() -> None:
    root = Path(__file__).resolve().parents[2]
    if not (root / ".tools" / "programs" / "installed").is_file():
        pytest.skip("no agent programs here: scripts/programs installs them")
    done = subprocess.run(
        [str(root / "scripts" / "programs")], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


NOON = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)


@rows(
    ("words", "minutes"),
    [
        ("usage limit: try again in 3 hours", 180),
        ("Upgrade to Pro or try again in 2 days 17 hours.", 65 * 60),
        ("You've hit your limit, resets in 5h 30m", 330),
        ("Claude AI usage limit reached|1795874400", 120),
        ("You've hit your session limit \u00b7 resets 8:30pm (UTC)", 510),
        ("5-hour limit reached \u2219 resets 11am (UTC)", 23 * 60),
        ("resets 8:30pm (Asia/Tokyo)", 23 * 60 + 30),
        ("Your quota will reset after 2h13m4s.", 133),
        ("usage limit: it resets at 2026-11-29T11:00:00Z", 23 * 60),
        ("usage limit: resets 2026-11-28T21:00:00.000+01:00", 8 * 60),
        ("[2026-11-28T11:59:58Z] usage limit: resets at 5pm", 5 * 60),
        ("2026-11-28 11:59:58,123 usage limit: it resets in 2 hours", 2 * 60),
        ("[2026-11-28T11:59:58Z] usage limit: resets 2026-11-28T21:00:00+01:00", 8 * 60),
        ("your limit will reset at 11/29/2026 09:00", None),
        ("resets 8.30pm (UTC)", 510),
        ("resets Thu 12am (UTC)", 4 * 1440 + 12 * 60),
        ("resets Saturday 11am (UTC)", 7 * 1440 - 60),
        ("resets Dec 3, 9am (UTC)", 5 * 1440 - 180),
        ("try again at Dec 2nd, 2026 11:35 PM (UTC).", 4 * 1440 + 695),
        ("resets Jan 2 at 2pm (UTC)", 35 * 1440 + 120),
        ("resets December 1 at 0:30 (UTC)", 2 * 1440 + 750),
        ("resets Feb 31, 9am", None),
        ("You have hit your weekly limit", None),
        ("limit reached, resets at 25:99", None),
    ],
)
def test_the_words_of_a_program_say_when_its_plan_allows_more(words: str, minutes: int | None) -> None:
    found = after_reset(words, NOON)
    if minutes is None:
        assert found == "run the same command again when your plan allows more"
    else:
        assert found.startswith(f"it goes on from {NOON + timedelta(minutes=minutes):%Y-%m-%d %H:%M} (UTC)")
