"""How many of an optimizer's edits help, as their accounts in this run show: few of one that proposes what does
nothing, so that what passes is more likely to be luck; most of a good one.

It is not known, so there are several shares, each with the weight that the accounts leave it (empirical Bayes: Efron
2010, Large-Scale Inference, section 2).
"""

from collections.abc import Iterable, Sequence
from math import exp, fsum, log

_SHARES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9)
"""Shares of the edits that may help. Before any account is known each is as likely as the others, which makes an edit
that does nothing a little likelier than one that helps."""
_DOUBT, _TRUST = 0.8, 0.4
"""What an account counts a step later, where edits seem to help less often than before any, and more often: the
better a skill, the more failures are noise, for which no edit helps. With .5 for both, one whose edits do nothing was
believed too often (null worlds); with .8, harmful lines entered in three of 20 runs where tasks are flaky."""
_MOST = 100.0
"""What an account counts at most: one of very many tasks would be more than a number can be."""


def odds(weights: Sequence[float]) -> float:
    """Log odds that an edit helps."""
    none = fsum(weight * (1 - share) for weight, share in zip(weights, _SHARES, strict=True))
    return log((1 - none) / none)


def learnt(weights: Sequence[float], accounts: Iterable[float]) -> tuple[float, ...]:
    """The weights of the shares, in all 1, after the accounts of further edits: log likelihood ratios of what they do
    if they help, and if they do nothing."""
    ratios = [exp(min(one, _MOST)) for one in accounts]
    likely = [fsum(log(1 - share + share * ratio) for ratio in ratios) for share in _SHARES]
    before = weights or [1.0] * len(_SHARES)
    return _normal(weight * exp(one - max(likely)) for weight, one in zip(before, likely, strict=True))


def a_step_later(weights: Sequence[float]) -> tuple[float, ...]:
    """With what was learnt before fading."""
    power = _DOUBT if odds(weights) < odds(learnt((), ())) else _TRUST
    return _normal(weight**power for weight in weights)


def _normal(weights: Iterable[float]) -> tuple[float, ...]:
    found = list(weights)
    least = 1e-9 * fsum(found)  # so that no share is ruled out for good
    total = fsum(max(weight, least) for weight in found)
    return tuple(max(weight, least) / total for weight in found)
