"""Which of many elements are needed for an effect: preferred minimal explanations by halves.

Source: QuickXplain (Junker 2004, AAAI, "Preferred Explanations and Relaxations for Over-Constrained Problems").
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def explain(elements: Sequence[T], works: Callable[[Sequence[T]], Awaitable[bool]]) -> list[T]:
    """A smallest part of the elements that works when nothing of it can be left out; earlier elements are preferred.

    About 2 k log2(n / k) + 2 k tests for k needed elements of n.

    Args:
        works: whether a part (in the order of `elements`) has the effect. All elements together are taken to have
            it. An empty part is asked about too, so it says whether anything is needed at all.
    """
    if not elements or await works(()):
        return []
    needed = await _needed([], False, list(enumerate(elements)), works)
    return [element for _, element in sorted(needed, key=lambda pair: pair[0])]


_Numbered = list[tuple[int, T]]


async def _needed(
    base: _Numbered[T], grown: bool, rest: _Numbered[T], works: Callable[[Sequence[T]], Awaitable[bool]]
) -> _Numbered[T]:
    if grown and await works([element for _, element in sorted(base, key=lambda pair: pair[0])]):
        return []
    if len(rest) == 1:
        return rest
    half = len(rest) // 2
    preferred, other = rest[:half], rest[half:]
    later = await _needed([*base, *preferred], True, other, works)
    earlier = await _needed([*base, *later], bool(later), preferred, works)
    return [*earlier, *later]
