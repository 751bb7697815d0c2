"""Which records are dreamt about together: three, one of them of the current period (seed 1)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from random import Random

from msgspec import Struct

from ...errors import InvalidInputError
from ...model import Resource
from ...store.contract import Store

__all__ = ["DREAMS", "Pool", "how_many", "pool", "sample"]

DREAMS = 100  # seed 1: num_dreams
TOGETHER = 3


class Pool(Struct, frozen=True):
    """Ids of what may be dreamt about, each list in an order that depends on nothing but the
    records."""

    current: tuple[str, ...]  # of the current period
    all: tuple[str, ...]


def pool(
    store: Store,
    *,
    current: Callable[[Resource], bool],
    until: datetime | None = None,
    depth: int,
    without: Callable[[Resource], bool] = lambda _: False,
) -> Pool:
    """The resources with words of a generation below `depth`, none later than `until`. One pass
    over the store."""
    found = sorted(
        (record.id, current(record))
        for record in store.records("resources")
        if isinstance(record, Resource)
        and record.content.strip()
        and record.generation < depth
        and not (until and record.starts_at and record.starts_at > until)
        and not without(record)
    )
    return Pool(tuple(id for id, now in found if now), tuple(id for id, _ in found))


def how_many(dreams: int | float | str | None, found: Pool) -> int:
    """As many as given; a ratio of the records ("10%", 0.1); or 100, but one for each record of the
    period at most.

    Raises:
        InvalidInputError: it is neither a number from 1 nor a ratio.

    >>> found = Pool(("a", "b"), tuple("abcdefghij"))
    >>> how_many(7, found), how_many("25%", found), how_many(0.1, found), how_many(None, found)
    (7, 3, 1, 2)
    """
    if dreams is None:
        return min(DREAMS, len(found.current))
    ratio: float | None = None
    try:
        if isinstance(dreams, str):
            ratio = float(dreams[:-1]) / 100 if dreams.endswith("%") else None
            number = int(dreams) if ratio is None else 0
        else:
            ratio = dreams if isinstance(dreams, float) else None
            number = int(dreams) if ratio is None else 0
    except ValueError:
        number = 0
    if ratio is not None and 0 < ratio <= 1:
        return -int(-ratio * len(found.all) // 1)
    if ratio is not None or number < 1 or isinstance(dreams, bool):
        raise InvalidInputError(
            f"{dreams!r} is no number of dreams",
            remedy="give a whole number from 1, or a ratio such as 10% or 0.1",
        )
    return number


def sample(found: Pool, seed: str, *, taken: Collection[frozenset[str]] = ()) -> tuple[str, ...]:
    """Three different records, the first of the current period if it has any; fewer when there are
    no three.

    The same seed and pool give the same records. Those in `taken` are not drawn again, if others
    can be had.
    """
    random = Random(seed)  # noqa: S311 - reproducible on purpose
    drawn: tuple[str, ...] = ()
    for _ in range(10):
        first = random.choice(found.current or found.all)
        # a few more than needed: one of them may be the first
        others = [
            id for id in random.sample(found.all, min(TOGETHER, len(found.all))) if id != first
        ]
        drawn = (first, *others[: TOGETHER - 1])
        if frozenset(drawn) not in taken:
            break
    return drawn
