"""YAML that was written to harm its reader: an error within a second, whoever wrote it."""

import datetime
import time
from pathlib import Path

import pytest
import yaml

from etude.config import load_config
from etude.errors import ConfigError, SkillError
from etude.safe_yaml import DEEPEST, MOST_CHARACTERS, dump_yaml, load_yaml
from etude.skill.document import Document
from rows import few, rows

TENFOLD = ", ".join(["*{0}"] * 10)
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{TENFOLD.format(f'a{i - 1}')}]\n" for i in range(1, 12)
)
MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: [{TENFOLD.format(f'a{i - 1}')}]}}\n" for i in range(1, 12))
ATTACKS = {
    "aliases of aliases": (BOMB, "more than 5,000 values, aliases counted as what they stand for"),
    "merged aliases": (MERGES, "more than 5,000 values"),
    "an alias in itself": ("a: &a [*a]", "an alias inside of what it stands for"),
    "10,000 open brackets": ("[" * 10_000, f"nested more than {DEEPEST} deep"),
    "10,000 brackets": ("a: " + "[" * 10_000 + "]" * 10_000, f"nested more than {DEEPEST} deep"),
    "10,000 braces": ("{a: " * 10_000, f"nested more than {DEEPEST} deep"),
    "10,000 dashes": ("- " * 10_000, f"nested more than {DEEPEST} deep"),
    "steps to the right": ("".join(" " * i + "a:\n" for i in range(400)), f"nested more than {DEEPEST} deep"),
    "1 MB": ("a: " + "x" * 1_000_000, "more than 100,000 characters"),
    "a list without end": ("- 1\n" * 24_000, "more than 5,000 values"),
    "keys without end": ("".join(f"k{i}: 1\n" for i in range(9_000)), "more than 5,000 values"),
    "a number of base 60": ("a: 1" + ":1" * 49_000, "a number of more than 1,000 characters"),
    "a float of base 60": ("a: 1" + ":1" * 450 + ".5", "int too large to convert to float"),
    "no character": (r'a: "\UFFFFFFFF"', "too large"),
}


@pytest.mark.parametrize("name", few(ATTACKS, first=6))
def test_an_attack_is_refused_within_a_second_as_settings_and_as_a_skill(name: str, tmp_path: Path) -> None:
    text, problem = ATTACKS[name]
    start = time.process_time()
    with pytest.raises(yaml.YAMLError, match=problem):
        load_yaml(text)
    assert time.process_time() - start < 1
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ConfigError, match=problem):
        load_config(tmp_path / "c.yaml", environ={})
    with pytest.raises(SkillError, match=problem):
        Document.parse(f"---\n{text}\n---\nRules.\n")


def test_a_setting_on_the_command_line_is_read_as_carefully(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("")
    with pytest.raises(ConfigError, match="cannot read the value"):
        load_config(tmp_path / "c.yaml", flags=[("env.path", "[" * 10_000)], environ={})


def test_a_file_without_end_is_not_read_to_its_end() -> None:
    with pytest.raises(ConfigError):
        load_config(Path("/dev/zero"), environ={})


@rows(
    ("text", "value"),
    [
        ("", None),
        ("a: &x {b: 1.5, c: 1e3}\nd: {<<: *x, b: 2}", {"a": {"b": 1.5, "c": "1e3"}, "d": {"b": 2, "c": "1e3"}}),
        ("[1, 0x1F, 017, 1:30, .inf, ~, yes, 2024-01-02]",
         [1, 31, 15, 90, float("inf"), None, True, datetime.date(2024, 1, 2)]),
        ("a: &n 7\nb: [*n, *n]", {"a": 7, "b": [7, 7]}),
        ("[" * DEEPEST + "]" * DEEPEST, yaml.safe_load("[" * DEEPEST + "]" * DEEPEST)),
        ("x" * MOST_CHARACTERS, "x" * MOST_CHARACTERS),
    ],
)  # fmt: skip
def test_what_is_within_the_limits_is_read_as_by_any_other_reader(text: str, value: object) -> None:
    assert load_yaml(text) == value == yaml.safe_load(text)


def test_data_come_back_and_are_written_as_people_read_them() -> None:
    data = {"z": ["yes", "1", "", "é", "a\nb"], "a": {"n": [1, 1e-7, None, True]}, "e": []}
    for text in ("plain", "\U0001f600", "\ud800"):
        assert load_yaml(dump_yaml({**data, "t": text})) == {**data, "t": text}
    assert dump_yaml({"b": "é \U0001f600", "a": 1}) == "b: é \U0001f600\na: 1\n"


def test_letters_that_json_spells_as_two_halves_are_whole(tmp_path: Path) -> None:
    """A folder may be called so, and the command hands its path on as JSON."""
    assert load_yaml(r'{"\ud83c\udf89": "\ud842\udfb7 \ud83d"}') == {"\U0001f389": "\U00020bb7 \ud83d"}
    (tmp_path / "c.yaml").write_text("")
    config = load_config(tmp_path / "c.yaml", flags=[("run.folder", r'"\ud83d\ude80 runs"')], environ={})
    assert Path(config.run.folder).name == "\U0001f680 runs"
