"""TRAVERSE: one statement, breadth first, a level a row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...results import Step, Walk

_SEPARATOR = "\x1e"  # between the keys of a path: `chr(30)` in the statement; no key has it


class WalkRow(NamedTuple):
    """The one row that a walk gives."""

    depth: int
    reached: int
    unfollowed: int
    paths: Iterable[str]
    aliased: bool  # nothing was walked, because some record has several keys

    def walk(self) -> Walk:
        steps = []
        for path in self.paths:
            keys = tuple(path.split(_SEPARATOR))
            steps.append(Step(keys[-1], len(keys) - 1, keys))
        return Walk(tuple(steps), self.reached, self.unfollowed, self.depth)
