"""The names that come nearest to a wrong one: by the pairs of letters in common, whatever the case and separators."""

from collections.abc import Iterable
from functools import lru_cache
from heapq import nlargest
from itertools import islice

from handfast.core.words.printable import fold_name

_MOST_COMPARED = 300  # names that a wrong one is compared with: few tools have more fields
_KNOWN_NAMES = 4096  # whose pairs are remembered: most of the time that a comparison takes
_LONGEST_COMPARED = 128  # the longest name a tool should have
_SAME_WORD = 0.6  # likeness of a name to a slip of it: one letter more, less or other, of four


def nearest(
    wanted: str, known: Iterable[str], most: int = 1, *, least: float = _SAME_WORD, among: int = _MOST_COMPARED
) -> list[str]:
    """At most so many, the nearest first. Linear, unlike an edit distance."""
    word = _plain(wanted)
    likeness = {name: _likeness(word, _plain(name)) for name in islice(known, among)}
    return [name for name in nlargest(most, likeness, key=likeness.__getitem__) if likeness[name] >= least]


def _plain(name: str) -> str:
    return fold_name(name[:_LONGEST_COMPARED]).replace("_", "").replace("-", "")


def _likeness(one: str, other: str) -> float:
    """From 0 to 1: twice the pairs they share, against those they have. Swapped letters are the same word."""
    ours, theirs = _pairs(one), _pairs(other)
    is_swapped = len(one) == len(other) and bool(one) and sorted(one) == sorted(other)
    return 1.0 if is_swapped else 2 * len(ours & theirs) / (len(ours) + len(theirs))


@lru_cache(_KNOWN_NAMES)
def _pairs(word: str) -> frozenset[str]:
    """With its ends, so that short names have pairs enough."""
    ended = f"\0{word}\0"
    return frozenset(ended[at : at + 2] for at in range(len(ended) - 1))
