"""What a run used, for people."""

from collections.abc import Iterator

from etude.cli.terminal.tables import text_lines
from etude.readable import short
from etude.records import Usage
from etude.store.projections.cost import RunCost

_COLUMNS = ("role", "stage", "calls", "failed", "tokens in", "cached", "out", "cost")


def cost_lines(cost: RunCost) -> Iterator[str]:
    """A table by role and stage with the sums below."""
    if not cost.calls:
        yield "no call has been made yet"
        return
    rows = [
        (each.role, each.stage.replace("_", " "), each.calls, each.failed, each.usage, each.usd)
        for each in sorted(cost.stages, key=lambda each: (each.role, -each.usage.total))
    ]
    failed = sum(each.failed for each in cost.stages)
    yield from text_lines(
        [_COLUMNS, *(_row(*row) for row in (*rows, ("total", "", cost.calls, failed, cost.usage, cost.usd)))]
    )


def _row(role: str, stage: str, calls: int, failed: int, usage: Usage, usd: float | None) -> tuple[str, ...]:
    tokens = usage.input_tokens, usage.cached_tokens, usage.output_tokens
    money = "unknown" if usd is None else f"${usd:.4f}" if 0 < usd < 1 else f"${usd:,.2f}"
    return role, stage, f"{calls:,}", f"{failed:,}", *map(short, tokens), money
