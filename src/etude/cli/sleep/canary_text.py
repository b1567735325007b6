"""What corrections say of adoptions, for people."""

from collections.abc import Iterable

from etude.cli.terminal import output
from etude.sleep.adoption.canary import FEWEST, Canary, Tally
from etude.sleep.adoption.lint import plain

__all__ = ["canary_lines"]


def canary_lines(canaries: Iterable[Canary], where: str) -> list[str]:
    """A line for each adoption that stands, and how to take back one that did harm.

    Args:
        where: what commands need to be about these nights, as `elsewhere` has it.
    """
    lines: list[str] = []
    for canary in canaries:
        night = int(canary.night)
        names = ", ".join(plain(name, 80) for name in canary.documents)
        seen = f"corrected {_share(canary.after)} since, {_share(canary.before)} before"
        more = f"{FEWEST} on each side tell something" if canary.p is None else _p(canary.p)
        lines.append(f"canary    night {night} ({names}): {canary.verdict}; {seen}; {more}")
        if canary.verdict == "worse":
            lines.append(f"  take it back with: {output.program()} sleep revert {night}{where}")
    return lines


def _p(value: float) -> str:
    return f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"


def _share(tally: Tally) -> str:
    return f"{tally.corrected:,} of {tally.turns:,} turns"
