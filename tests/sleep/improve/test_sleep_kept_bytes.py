"""What a night leaves in a document keeps its bytes: rules with secrets, and line ends."""

from pathlib import Path

import pytest
from scripted import obeying, rewriting, tasks_that_want
from small_night import Small

from etude.errors import InputError
from etude.sleep.adoption.proposal import read_proposal
from etude.sleep.adoption.proposals import ProjectProposals
from etude.sleep.adoption.rules import pieces
from etude.workbench import Given

PEM = """\
-----BEGIN RSA PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED

MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn1
+ygWyF8PbnG
-----END RSA PRIVATE KEY-----"""
ONE, OTHER = "sk-ant-api03-AAAABBBBCCCCDDDDEEEE1111", "sk-ant-api03-ZZZZYYYYXXXXWWWWVVVV2222"
BLOCK = f"""\
- Test with {ONE}.
- Test with {OTHER}.
- Be brief.
- Log in by DB_PASSWORD=hunter2hunter2 on {ONE}.
- Be kind.
- The key:

{PEM}

- Mail to me@example.org.
"""
"""Two lines that look alike without their secrets, a password between other rules, a key with a blank line in it, and
an address beside secrets."""


def adopted(tmp_path: Path, block: str, ends: str = "\n", *, keeps: bool = True) -> tuple[str, Small]:
    """The skill once a new rule is adopted that an optimizer added to what it was shown, or put in its place."""
    small = Small(tmp_path, n=0)
    small.skill.parent.mkdir(parents=True)
    head = "---\nname: learned\ndescription: Learnt rules.\n---\n\n<!-- etude:begin learned -->\n"
    text = f"{head}{block}<!-- etude:end learned -->\n".replace("\n", ends)
    small.skill.write_bytes(text.encode())
    kept = "".join(f"{line}\n" for line in block.splitlines() if line.startswith(("- Be", "- Mail"))) if keeps else ""
    models = Given(target=obeying(("Say 7713", "7713")), optimizer=rewriting(f"{kept}- Say 7713.\n"))
    report = small.night(tasks_that_want(small, ["7713"], each=2), given=models)
    assert report.status == "proposed", report
    new = [rule.id for one in read_proposal(Path(report.proposal)).documents for rule in one.added]
    ProjectProposals(small.project, small.state).adopt(1, new)
    return small.skill.read_bytes().decode(), small


@pytest.mark.parametrize("keeps", [True, False], ids=["kept", "left out"])
def test_a_rule_with_a_secret_is_never_written_again(tmp_path: Path, keeps: bool) -> None:
    text, small = adopted(tmp_path, BLOCK, keeps=keeps)
    assert "[redacted" not in text
    assert all(rule in text for rule, _ in pieces(BLOCK))
    assert "- Say 7713.\n" in text
    assert not any(ONE in asked or "hunter2" in asked or "MIIEp" in asked for asked in small.optimizer.answered)
    proposals = ProjectProposals(small.project, small.state)
    (rule,) = [rule for one in read_proposal(proposals.folder(1)).documents for rule in one.added]
    with pytest.raises(InputError, match="a secret that is only shown in part"):
        proposals.adopt(1, [rule.id], {rule.id: "Say 7713 with [redacted:token]."})


@pytest.mark.parametrize("ends", ["\r\n", "\r"])
def test_a_new_rule_has_the_line_ends_of_its_document(tmp_path: Path, ends: str) -> None:
    text, _ = adopted(tmp_path, "- Be brief.\n  And kind.\n- Be bold.  \n", ends)
    assert f"- Be brief.{ends}  And kind.{ends}" in text
    assert f"- Be bold.  {ends}" in text
    assert f"- Say 7713.{ends}" in text
    assert "\n" not in text.replace(ends, "")
