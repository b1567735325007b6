"""The gate for pull requests: compares the skill of a pull request with that of its base branch, comments the result
and fails unless the verdict is `ship`.

The current folder is a checkout of the base branch: settings, code and data are from there. Of the pull request only
the files of the skill are read, out of git, as data. Python standard library and the `etude` command only.
"""

import json
import os
import re
import secrets
import shlex
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

MOST_FILES = 100
MOST_BYTES = 1_000_000
MOST_DOCUMENT_BYTES = 64_000
"""Of a Markdown file: it is sent with every attempt."""
SHOWN_TASKS = 20
VERDICTS = {0: "ship", 4: "inconclusive", 5: "do not ship"}
_OWN = ("GATE_", "GITHUB_", "ACTIONS_", "RUNNER_", "GH_TOKEN", "INPUT_")
"""Variables that nothing but this script sees: tokens, and files that steer the runner."""
_ACTS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Refused(Exception):
    """There is nothing to compare; the message is for people."""


class Gate(NamedTuple):
    """What the workflow and the pull request say."""

    skill: str
    config: str
    arguments: list[str]
    token: str
    api: str
    repository: str
    number: int
    head: str
    from_fork: bool

    @property
    def marker(self) -> str:
        """The first line of the comment, by which the next run finds it."""
        return f"<!-- etude gate: {re.sub('[^A-Za-z0-9_./-]', '_', self.skill).replace('--', '__')} -->"


def main(environ: Mapping[str, str]) -> int:
    """Decide, comment, and return the exit code: 0 for `ship` or a skill that did not change, else not 0."""
    try:
        gate = read(environ)
    except Refused as refused:
        return fail(str(refused))
    try:
        with tempfile.TemporaryDirectory() as folder:
            code, body = decide(gate, Path(folder), environ)
    except Refused as refused:
        code, body = 1, f"**Not compared**\n{safe_block(str(refused))}"
    if body:
        text = f"{gate.marker}\n### Skill {safe(gate.skill)}\n\n{body}\n\nPull request at {safe(gate.head[:12])}.\n"
        say_in_summary(text, environ)
        try:
            comment(gate, text)
        except (OSError, ValueError, KeyError, TypeError) as error:
            why = (
                "a pull request from a fork may not comment with the event `pull_request`"
                if gate.from_fork
                else "the job needs `permissions: {pull-requests: write}`"
            )
            return fail(f"the comment could not be written: {error}; {why}")
    return code


def read(environ: Mapping[str, str]) -> Gate:
    """The inputs and the event. Raises Refused: something is missing, or the checkout is not the base branch."""
    event = json.loads(Path(environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    pull = event.get("pull_request")
    if not isinstance(pull, dict):
        raise Refused("the event is no pull request: use `on: pull_request_target`")
    skill = environ.get("GATE_SKILL", "").strip().removesuffix("/")
    path = PurePosixPath(skill)
    if not skill or path.is_absolute() or ".." in path.parts or str(path) in (".", ""):
        raise Refused(f"skill = {skill!r} is not a path within the repository")
    head, base = pull["head"]["sha"], pull["base"]["sha"]
    if not (_SHA.fullmatch(head) and _SHA.fullmatch(base)):
        raise Refused("the event names no commits")
    # With `pull_request_target`, GITHUB_SHA is the tip of the base branch; else it is a merge with the pull request.
    bases = {base, environ["GITHUB_SHA"]} if environ.get("GITHUB_EVENT_NAME") == "pull_request_target" else {base}
    here = git("rev-parse", "HEAD").decode().strip()
    if here not in bases:
        raise Refused(
            f"the checkout is {here[:12]} and not the base branch, so the pull request could change what judges it: "
            "give actions/checkout `ref: ${{ github.event.pull_request.base.sha }}`"
        )
    source = (pull["head"].get("repo") or {}).get("full_name")
    trust = environ.get("GATE_TRUST", "").strip()
    return Gate(
        skill=skill,
        config=environ.get("GATE_CONFIG", "etude.yaml"),
        arguments=shlex.split(environ.get("GATE_ARGUMENTS", "")) + (["--trust", trust] if trust else []),
        token=environ.get("GATE_TOKEN", ""),
        api=environ.get("GITHUB_API_URL", "https://api.github.com").rstrip("/"),
        repository=environ["GITHUB_REPOSITORY"],
        number=int(pull["number"]),
        head=head,
        from_fork=source != pull["base"]["repo"]["full_name"],
    )


def decide(gate: Gate, folder: Path, environ: Mapping[str, str]) -> tuple[int, str]:
    """The exit code, and what to say about it in Markdown; nothing where the skill is the same."""
    git("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--depth=1", "origin", gate.head)
    if tree_of("HEAD", gate.skill) == tree_of(gate.head, gate.skill):
        print(f"the pull request does not change {gate.skill!r}: there is nothing to compare")
        return 0, ""
    mine, theirs = (
        written(commit, gate.skill, folder / name) for commit, name in (("HEAD", "base"), (gate.head, "pull-request"))
    )
    command = ["etude", "compare", str(mine), str(theirs), gate.config, "--json", *gate.arguments]
    clean = {name: value for name, value in environ.items() if not name.startswith(_OWN)}
    # What models and tasks print must not steer the runner.
    stop = secrets.token_hex(16)
    print(f"::stop-commands::{stop}", flush=True)
    try:
        done = subprocess.run(command, env=clean, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    finally:
        print(f"\n::{stop}::", flush=True)
    try:
        result = json.loads(done.stdout)
    except ValueError:
        result = {}
    if done.returncode in VERDICTS and result.get("verdict") == VERDICTS[done.returncode]:
        return done.returncode, "\n".join(report(result))
    text = "\n".join(filter(None, (result.get("error", "etude gave no result"), result.get("hint", ""))))
    if gate.from_fork and environ.get("GITHUB_EVENT_NAME") == "pull_request":
        text += (
            "\nThe pull request comes from a fork: with the event pull_request it gets no secrets, so there may be "
            "no key for the model. A maintainer can push the branch to this repository."
        )
    return done.returncode or 1, f"**Not compared** (exit code {done.returncode})\n{safe_block(text)}"


def tree_of(commit: str, path: str) -> bytes:
    """The hash of the skill in a commit; empty where it is not there."""
    return git("rev-parse", "--verify", "--quiet", f"{commit}:{path}", fails=True).strip()


def written(commit: str, path: str, folder: Path) -> Path:
    """The skill of a commit as files, without a checkout: no link, no submodule, no filter, no hook. Where the base
    has none, an empty one. Raises Refused."""
    entries = [line for line in git("ls-tree", "-rlz", "--full-tree", commit, "--", path).split(b"\0") if line]
    name = PurePosixPath(path).name
    if not entries and commit == "HEAD":
        target = folder / "no-skill.md"
        target.parent.mkdir(parents=True)
        target.write_text("", encoding="utf-8")
        return target
    if not entries:
        raise Refused(f"the pull request has no skill at {path!r}")
    if len(entries) > MOST_FILES:
        raise Refused(f"the skill has {len(entries)} files, {MOST_FILES} are allowed")
    total = 0
    for entry in entries:
        about, _, raw = entry.partition(b"\t")
        mode, _, blob, size = about.decode().split()
        file = raw.decode("utf-8", "backslashreplace")
        inside = PurePosixPath(file).relative_to(PurePosixPath(path).parent)
        if mode not in ("100644", "100755"):
            raise Refused(f"{file!r} is a link or a submodule: a skill has plain files only")
        if _ACTS.search(file) or "\\" in file or any(part in ("", ".", "..", ".git") for part in file.split("/")):
            raise Refused(f"{file!r} is not a usable file name")
        total += int(size)
        if total > MOST_BYTES:
            raise Refused(f"the skill is larger than {MOST_BYTES:,} bytes")
        if file.lower().endswith(".md") and int(size) > MOST_DOCUMENT_BYTES:
            raise Refused(f"{file!r} has {int(size):,} bytes, {MOST_DOCUMENT_BYTES:,} are allowed")
        target = folder / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(git("cat-file", "blob", blob))
        target.chmod(0o755 if mode == "100755" else 0o644)
    return folder / name


def git(*words: str, fails: bool = False) -> bytes:
    """What git prints. Raises Refused: it failed, unless that may happen."""
    environment = {**os.environ, "GIT_LITERAL_PATHSPECS": "1", "GIT_TERMINAL_PROMPT": "0"}
    done = subprocess.run(["git", *words], capture_output=True, env=environment, check=False)
    if done.returncode and not fails:
        raise Refused(f"git {words[0]} failed: {done.stderr.decode(errors='replace').strip()}")
    return b"" if done.returncode else done.stdout


def report(result: Mapping[str, Any]) -> Iterator[str]:
    """A comparison as Markdown. Nothing of it but numbers is trusted."""
    gain, margin, split, trials = result["difference"], result["margin"], result["split"], int(result["trials"])
    if result.get("simulated"):
        yield "**Simulated models: these scores say nothing about a real model.**\n"
    bar = "above 0" if margin >= 0 else f"above {margin:+g}"
    low, high = f"{result['at_least']:+.3f}", f"{result['at_most']:+.3f}"
    bounds = f"the difference is {low} to {high} (one-sided 95% bounds); `ship` needs it {bar}"
    these = result.get("these")
    exact = f"luck alone would do as well in {100 * these['p']:.3g}% of cases" if these else ""
    if these and result["claim"] == "these tasks":
        yield f"**{result['verdict']}**, on just these tasks: {exact}. On tasks like these: no verdict; {bounds}.\n"
    elif these:
        verdict = these["verdict"] if these["verdict"] in VERDICTS.values() else "no verdict"
        yield f"**{result['verdict']}**, on tasks like these: {bounds}. On just these tasks: {verdict}, {exact}.\n"
    else:
        yield f"**{result['verdict']}**, on tasks like these: {bounds}.\n"
    yield f"| | {'share solved' if result['metric'] == 'hard' else 'mean score'} | 95% interval |"
    yield "|---|---|---|"
    for name, score in (("base", result["a"]["score"]), ("pull request", result["b"]["score"])):
        yield f"| {name} | {score['mean']:.3f} | {score['low']:.3f} to {score['high']:.3f} |"
    yield f"| difference | {gain['mean']:+.3f} | {gain['low']:+.3f} to {gain['high']:+.3f} |\n"
    counts = f"{len(result['gained'])} tasks better, {len(result['lost'])} worse, {result['equal']} equal"
    errors = f"; {result['voids']} attempts errored" if result["voids"] else ""
    yield f"{gain['n']} {safe(split)} tasks, {trials} attempt{'s' * (trials > 1)} each: {counts}{errors}."
    if result.get("settle"):
        yield f"\nTo settle it: {safe(result['settle']['note'], 400)}"
    for title, flips in (("Worse", result["lost"]), ("Better", result["gained"])):
        yield from rows(title, flips)


def rows(title: str, flips: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The tasks that changed, folded."""
    if flips:
        more = f", the first {SHOWN_TASKS}" if len(flips) > SHOWN_TASKS else ""
        yield f"\n<details><summary>{title}: {len(flips)}{more}</summary>\n"
        yield "| task | base | pull request |"
        yield "|---|---|---|"
        for flip in flips[:SHOWN_TASKS]:
            yield f"| {safe(flip['task'])} | {flip['a']:.2f} | {flip['b']:.2f} |"
        yield "\n</details>"


def visible(text: str) -> str:
    """The text with the number of each character that acts on the reader's eye."""
    return _ACTS.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def safe(text: object, most: int = 100) -> str:
    """A text from anywhere as code within a line or a cell: nothing in it is Markdown, HTML, a link or a mention."""
    shown = visible(str(text)[:most]).replace("`", "'").replace("|", "¦").strip()
    return f"`{shown or ' '}`"


def safe_block(text: str) -> str:
    """The same for several lines."""
    lines = [visible(line) for line in text[:3000].split("\n")]
    fence = "`" * (3 + max((len(run) for run in re.findall("`+", text)), default=0))
    return "\n".join(["", fence + "text", *lines, fence])


def say_in_summary(text: str, environ: Mapping[str, str]) -> None:
    """On the page of the job, which there is even where no comment may be written."""
    if environ.get("GITHUB_STEP_SUMMARY"):
        with open(environ["GITHUB_STEP_SUMMARY"], "a", encoding="utf-8") as file:
            file.write(f"{text}\n")


def comment(gate: Gate, text: str) -> None:
    """Write the comment, or replace the one of an earlier push. Raises OSError, ValueError: the host refused."""
    comments = f"{gate.api}/repos/{gate.repository}/issues/{gate.number}/comments"
    for page in range(1, 31):
        found = call(gate, "GET", f"{comments}?per_page=100&page={page}")
        for each in found:
            # A person could write the marker, too, and change the comment later.
            if each["user"]["type"] == "Bot" and each["body"].startswith(gate.marker):
                call(gate, "PATCH", f"{gate.api}/repos/{gate.repository}/issues/comments/{int(each['id'])}", text)
                return
        if len(found) < 100:
            break
    call(gate, "POST", comments, text)


def call(gate: Gate, method: str, address: str, body: str | None = None) -> Any:
    """One request to the host's API."""
    data = None if body is None else json.dumps({"body": body}).encode()
    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {gate.token}",
        "Content-Type": "application/json",
        "User-Agent": "etude-gate",
    }
    request = urllib.request.Request(address, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def fail(text: str) -> int:
    """An error on the page of the job."""
    print(f"::error::{visible(text).replace('%', '%25')}")
    return 1


if __name__ == "__main__":
    sys.exit(main(os.environ))
