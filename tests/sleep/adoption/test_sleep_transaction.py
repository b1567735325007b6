"""A transaction ends with all new files or all old ones, and loses nothing that was written by hand, whatever happens
on the way: a kill, a full disk, an interrupt, a person at the same file."""

import errno
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from sleep_proposals import HAND, Project, both, offer, project
from watched import killed_adoption, told

from etude.errors import EtudeError, InputError, StopRun
from etude.sleep.adoption.adopt import adopt, receipts, recover
from etude.sleep.adoption.transaction import LOCK, PENDING, Write, carry_out

BLOCK = "\n<!-- etude:begin learned -->\n- Learned.\n<!-- etude:end learned -->\n"


def names_of_writes(tmp_path: Path) -> list[str]:
    place = project(tmp_path / "names")
    names: list[str] = []
    with told(names.append):
        adopt(both(place), place.root, place.state)
    return names


def test_everything_that_needs_room_is_written_before_the_first_document_is_replaced(tmp_path: Path) -> None:
    names = [name.split(" ")[0] for name in names_of_writes(tmp_path)]
    first = names.index("replace")
    assert set(names[first:]) == {"replace", "tidy", "end"}
    assert {"pending", "folder", "text"} <= set(names[:first])


def test_a_full_disk_at_any_write_leaves_everything_as_it_was_or_done(tmp_path: Path) -> None:
    for number, name in enumerate(names_of_writes(tmp_path)):
        place = project(tmp_path / str(number))
        proposal, before = both(place), place.files()
        left = [number]

        def listen(_: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == -1:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        if name.startswith(("tidy", "end")):
            with told(listen):
                adopt(proposal, place.root, place.state)
        else:
            with pytest.raises(EtudeError, match=r"are as they were: .*No space left") as error, told(listen):
                adopt(proposal, place.root, place.state)
            assert "room on the disk" in error.value.hint
            assert place.files() == before
            adopt(proposal, place.root, place.state)
        assert place.memory.read_text() == HAND + BLOCK
        assert not list(place.root.rglob(".etude-*"))
        assert not (place.state / PENDING).exists()


def test_an_interrupt_puts_everything_back(tmp_path: Path) -> None:
    place = project(tmp_path)
    proposal, before = both(place), place.files()

    def listen(name: str) -> None:
        if name == "replace 1":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), told(listen):
        adopt(proposal, place.root, place.state)
    assert place.files() == before


@pytest.mark.parametrize("size", [50, len(HAND) * 200 + 8], ids=["the first note", "a document"])
def test_a_file_that_cannot_be_written_in_full_leaves_everything_as_it_was(tmp_path: Path, size: int) -> None:
    place = project(tmp_path, HAND * 200)
    proposal, before = both(place), place.files()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        with pytest.raises(EtudeError, match="are as they were"):
            adopt(proposal, place.root, place.state)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert place.files() == before
    assert not list(place.state.glob(".etude-*"))
    assert adopt(proposal, place.root, place.state).number == 1


def full_at(at: str) -> Callable[[str], None]:
    """A disk that is full at this write."""

    def listen(name: str) -> None:
        if name == at:
            raise OSError(errno.ENOSPC, "full")

    return listen


def killed_once(place: Project, at: str) -> None:
    killed_adoption(place.state / "nights" / "n1" / "proposal", place.root, place.state, at)


def test_text_written_by_hand_into_a_half_adopted_document_is_kept(tmp_path: Path) -> None:
    place = project(tmp_path)
    both(place)
    killed_once(place, "replace 1")
    place.memory.write_text(place.memory.read_text() + "By hand.\n")
    recovery = recover(place.state)
    assert recovery is not None
    assert recovery.notes == (
        "an interrupted adoption or revert was finished",
        f"{str(place.memory)!r} was changed since and left as it is",
    )
    assert place.memory.read_text() == HAND + BLOCK + "By hand.\n"
    assert "- Of the skill." in place.skill.read_text()


def test_a_document_that_was_new_is_gone_again_when_the_others_cannot_be_replaced(tmp_path: Path) -> None:
    place = project(tmp_path)
    before = place.files()
    proposal = offer(place, [(place.skill, "- a\n"), (place.memory, "- a\n")])
    with pytest.raises(EtudeError, match="are as they were"), told(full_at("replace 1")):
        adopt(proposal, place.root, place.state)
    assert place.files() == before


def test_the_next_adoption_ends_the_interrupted_one_first(tmp_path: Path) -> None:
    place = project(tmp_path)
    proposal = both(place)
    killed_once(place, "replace 1")
    with pytest.raises(InputError, match="nothing of night n1 is left to adopt"):
        adopt(proposal, place.root, place.state)
    assert place.memory.read_text() == HAND + BLOCK
    assert [one.number for one in receipts(place.state)] == [1]


def test_a_document_that_changes_while_it_is_adopted_is_kept(tmp_path: Path) -> None:
    place = project(tmp_path)
    proposal = both(place)

    def listen(name: str) -> None:
        if name == "replace 0":
            place.memory.write_text("By hand.\n")

    with pytest.raises(EtudeError, match="changed while it was being replaced"), told(listen):
        adopt(proposal, place.root, place.state)
    assert place.memory.read_text() == "By hand.\n"
    assert not place.skill.exists()


def test_a_pending_record_that_cannot_be_read_stops_everything(tmp_path: Path) -> None:
    place = project(tmp_path)
    proposal = both(place)
    (place.state / PENDING).write_text("{")
    with pytest.raises(EtudeError, match=r"pending.json' cannot be read"):
        adopt(proposal, place.root, place.state)


def test_what_cannot_be_finished_now_is_finished_later(tmp_path: Path) -> None:
    place = project(tmp_path)
    both(place)
    killed_once(place, "replace 1")
    with pytest.raises(EtudeError, match=r"could not be finished: .*full"), told(full_at("replace 1")):
        recover(place.state)
    assert recover(place.state) is not None
    assert place.skill.exists()
    assert not list(place.root.rglob(".etude-*"))


def test_an_adoption_that_can_neither_be_done_nor_undone_is_finished_by_the_next_run(tmp_path: Path) -> None:
    place = project(tmp_path)
    proposal, blocks = both(place), list[Path]()

    def listen(name: str) -> None:
        if name == "replace 1":  # the first document is replaced; a folder stands where its old text would be written
            (second,) = place.skill.parent.glob(".etude-*")
            blocks.append(place.root / f"{second.name[:-1]}0")
            blocks[0].mkdir()
            raise OSError(errno.ENOSPC, "full")

    with pytest.raises(EtudeError, match="could not be finished") as error, told(listen):
        adopt(proposal, place.root, place.state)
    assert PENDING in error.value.hint
    blocks[0].rmdir()
    recovery = recover(place.state)
    assert recovery is not None
    assert recovery.left == ()
    assert place.memory.read_text() == HAND + BLOCK
    assert place.skill.exists()
    assert [one.number for one in receipts(place.state)] == [1]
    assert not list(place.root.rglob(".etude-*"))


def test_a_folder_that_a_person_has_put_something_into_stays(tmp_path: Path) -> None:
    place = project(tmp_path)
    proposal, notes = both(place), place.skill.parent / "notes.md"

    def listen(name: str) -> None:
        if name == "replace 0":
            notes.write_text("mine")
            raise OSError(errno.ENOSPC, "full")

    with pytest.raises(EtudeError, match="are as they were"), told(listen):
        adopt(proposal, place.root, place.state)
    assert notes.read_text() == "mine"
    assert not place.skill.exists()


def test_what_a_private_document_becomes_is_private_while_it_is_written(tmp_path: Path) -> None:
    place = project(tmp_path)
    place.memory.chmod(0o600)
    modes: list[int] = []

    def listen(name: str) -> None:
        if name == "replace 0":
            modes.extend(path.stat().st_mode & 0o777 for path in place.root.glob(".etude-*"))

    umask = os.umask(0o022)
    try:
        with told(listen):
            adopt(offer(place, [(place.memory, "- a\n")]), place.root, place.state)
    finally:
        os.umask(umask)
    assert modes == [0o600]


def test_a_state_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    place = project(tmp_path)
    proposal = both(place)
    (place.state / LOCK).mkdir()  # what stands for a folder that may not be written: tests may be run by root
    with pytest.raises(StopRun, match=r"adopt.lock' cannot be written: "):
        adopt(proposal, place.root, place.state)


def test_files_that_do_not_belong_together_are_still_one_transaction(tmp_path: Path) -> None:
    one, other = tmp_path / "a" / "one.md", tmp_path / "a" / "other.md"
    folders = (str(tmp_path / "a"),)
    writes = [Write(real=str(path), before=None, after=b"new", folders=folders) for path in (one, other)]
    (tmp_path / "state").mkdir()
    carry_out(tmp_path / "state", writes)
    assert (one.read_bytes(), other.read_bytes()) == (b"new", b"new")


@pytest.mark.parametrize("at", ["pending", "replace 0"])
@pytest.mark.parametrize("what", ["folder", "file"])
def test_nothing_is_written_through_a_link_that_appears_while_a_document_is_adopted(
    tmp_path: Path, at: str, what: str
) -> None:
    place = project(tmp_path)
    place.skill.parent.mkdir(parents=True)
    place.skill.write_text("---\nname: learned\ndescription: d\n---\n")
    outside = tmp_path / "outside"
    shutil.copytree(place.skill.parent, outside)
    proposal = offer(place, [(place.skill, "- a\n")])

    def listen(name: str) -> None:
        if name == at:
            link, target = (place.skill.parent, outside) if what == "folder" else (place.skill, outside / "SKILL.md")
            link.rename(tmp_path / "moved")
            link.symlink_to(target)

    with pytest.raises(EtudeError, match=r"SKILL.md' is reached through a link now"), told(listen):
        adopt(proposal, place.root, place.state)
    assert [path.name for path in outside.iterdir()] == ["SKILL.md"]
    assert "learned -->" not in (outside / "SKILL.md").read_text()
    assert not (place.state / PENDING).exists()


def test_a_folder_that_became_a_link_before_the_plan_gets_nothing_not_even_for_a_moment(tmp_path: Path) -> None:
    place = project(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    proposal = offer(place, [(place.skill, "- a\n")])
    seen: set[Path] = set()

    def listen(name: str) -> None:
        if name == "pending":
            (place.root / ".claude").symlink_to(outside)
        seen.update(outside.rglob("*"))

    with pytest.raises(EtudeError, match=r"SKILL.md' is reached through a link now"), told(listen):
        adopt(proposal, place.root, place.state)
    assert seen == set()


def test_nothing_is_finished_through_a_folder_that_became_a_link(tmp_path: Path) -> None:
    place = project(tmp_path)
    offer(place, [(place.skill, "- a\n"), (place.memory, "- a\n")])
    killed_once(place, "replace 0")
    outside = tmp_path / "outside"
    place.skill.parent.rename(outside)
    place.skill.parent.symlink_to(outside)
    recovery = recover(place.state)
    assert recovery is not None
    assert recovery.left == (str(place.skill),)
    assert not (outside / "SKILL.md").exists()
    assert "- a\n" in place.memory.read_text()


def test_a_note_that_was_not_written_in_full_is_removed(tmp_path: Path) -> None:
    place = project(tmp_path)
    both(place)
    (place.state / ".etude-0").write_text("{")  # what a kill within that note leaves
    recover(place.state)
    assert not list(place.state.glob(".etude-*"))
