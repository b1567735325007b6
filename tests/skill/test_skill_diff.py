"""How two skills differ."""

from etude import Skill, diff_skills


def test_a_diff_prints_as_a_patch() -> None:
    a, b = Skill(name="a", text="# Rules\nSkill A.\n"), Skill(name="b", text="# Rules\nSkill B.\n")
    diff = diff_skills(a, b)
    assert str(diff).splitlines()[-2:] == ["-Skill A.", "+Skill B."]
    assert repr(diff) == "<SkillDiff 'a' -> 'b': +1 -1 lines>"
    assert str(diff_skills(a, a)) == ""
