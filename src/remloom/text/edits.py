"""Texts in which parts were replaced, and what stood where."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Edit(NamedTuple):
    """A part of a text, from `start` up to `end`, in characters, and what takes its place."""

    start: int
    end: int
    text: str


class Edited(NamedTuple):
    """A text in which parts were replaced.

    `befores` are where they began and ended, `afters` where what took their place does; both
    ascending.
    """

    text: str
    befores: tuple[tuple[int, int], ...]
    afters: tuple[tuple[int, int], ...]

    def origin(self, position: int) -> int:
        """Where a position was: for what took the place of a part, where that began."""
        return _moved(position, self.afters, self.befores)

    def moved(self, position: int) -> int:
        """Where a position in the text as it was is now."""
        return _moved(position, self.befores, self.afters)


def apply(text: str, edits: Iterable[Edit]) -> Edited:
    """Replace parts of a text, which come in order and do not overlap.

    >>> edited = apply("tea or coffee", [Edit(0, 3, "water")])
    >>> edited.text, edited.origin(6), edited.moved(4)
    ('water or coffee', 4, 6)
    """
    parts: list[str] = []
    befores: list[tuple[int, int]] = []
    afters: list[tuple[int, int]] = []
    end = length = 0
    for edit in edits:
        start = length + edit.start - end
        parts += (text[end : edit.start], edit.text)
        length = start + len(edit.text)
        befores.append((edit.start, edit.end))
        afters.append((start, length))
        end = edit.end
    return Edited("".join([*parts, text[end:]]), tuple(befores), tuple(afters))


def _moved(
    position: int, sources: Sequence[tuple[int, int]], targets: Sequence[tuple[int, int]]
) -> int:
    number = bisect_right(sources, position, key=lambda part: part[0]) - 1
    if number < 0:
        return position
    _, end = sources[number]
    return targets[number][0] if position < end else targets[number][1] + position - end
