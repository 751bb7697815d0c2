"""Which runs of an inverted index become one, so that a query reads few. A merge is part of a
write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

_WIDTH = 3  # runs of about one size that may stand beside each other
_WHOLE = 1 << 20  # postings in a run that is merged no more: others wait for the write


class _Run(Protocol):
    @property
    def size(self) -> int:
        """In postings."""


_R = TypeVar("_R", bound=_Run)


def mergeable(present: Sequence[_R], size: int) -> Sequence[_R]:
    """The last runs, with which one of this size is to become one: each size, by powers of four,
    has few."""
    start = len(present)
    while True:
        first = start
        while first and _joins(present[first - 1], size):
            first -= 1
        if start - first < _WIDTH:
            return present[start:]
        # The merged run may be of the size of those before it.
        size += sum(run.size for run in present[first:start])
        start = first


def _joins(run: _Run, size: int) -> bool:
    """Whether a run may be merged with others that come to this size."""
    return run.size < _WHOLE and _magnitude(run.size) <= _magnitude(size)


def _magnitude(size: int) -> int:
    return size.bit_length() // 2
