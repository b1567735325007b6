"""Numbers as people read them: the same in a terminal, on the page and in a notebook."""

SIMULATED = "SIMULATED MODELS: these scores say nothing about a real model."


def counted(count: int, what: str) -> str:
    """As in `1 edit`, `3 edits` or `2 analyses`."""
    several = what.removesuffix("is") + "es" if what.endswith("sis") else f"{what}s"
    return f"{count:,} {what if count == 1 else several}"


def duration(seconds: float) -> str:
    """As in `0:42` or `1:05:09`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def money(usd: float | None) -> str:
    """US dollars; unknown is never 0."""
    return "unknown (no price set)" if usd is None else f"${usd:,.2f}" if usd >= 0.01 or usd == 0 else f"${usd:.4f}"


def short(count: int) -> str:
    """As in `950`, `12k` or `3.4M`."""
    if count < 10_000:
        return f"{count:,}"
    return f"{count / 1e3:.0f}k" if count < 1_000_000 else f"{count / 1e6:.1f}M"
