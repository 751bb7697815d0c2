"""Which records are dreamt about together: three, one of them of the current period (seed 1)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from random import Random

from msgspec import Struct

from ...errors import InvalidInputError
from ...model import Resource
from ...store.contract import Store

_DREAMS = 100  # seed 1: num_dreams
_TOGETHER = 3  # records
_ATTEMPTS = 10  # to draw records that were not drawn together before


class SamplePool(Struct, frozen=True):
    """Ids of what may be dreamt about; their order depends on nothing but the records."""

    current: tuple[str, ...]  # of the current period
    all: tuple[str, ...]


def build_pool(
    store: Store,
    *,
    is_current: Callable[[Resource], bool],
    until: datetime | None = None,
    depth: int,
    exclude: Callable[[Resource], bool] = lambda _: False,
) -> SamplePool:
    """The resources with words of a generation below `depth`, none later than `until`.

    One pass over the store.
    """
    current, every = [], []
    for record in store.records.all("resources"):
        if not isinstance(record, Resource) or not record.content.strip():
            continue
        later = until and record.starts_at and record.starts_at > until
        if record.generation >= depth or later or exclude(record):
            continue
        every.append(record.id)
        if is_current(record):
            current.append(record.id)
    return SamplePool(tuple(sorted(current)), tuple(sorted(every)))


def number_of_dreams(dreams: int | float | str | None, pool: SamplePool) -> int:
    """How many dreams are asked for: a number, or a ratio of the records ("10%", 0.1).

    By default 100, but one for each record of the period at most.

    Raises:
        InvalidInputError: it is neither a number from 1 nor a ratio.

    >>> pool = SamplePool(("a", "b"), tuple("abcdefghij"))
    >>> [number_of_dreams(dreams, pool) for dreams in (7, "25%", 0.1, None)]
    [7, 3, 1, 2]
    """
    if dreams is None:
        return min(_DREAMS, len(pool.current))
    ratio, number = _parse(dreams)
    if ratio is not None and 0 < ratio <= 1:
        # rounded up
        return -int(-ratio * len(pool.all) // 1)
    if ratio is not None or number < 1 or isinstance(dreams, bool):
        raise InvalidInputError(
            f"{dreams!r} is not a number of dreams",
            remedy="give a whole number from 1, or a ratio such as 10% or 0.1",
        )
    return number


def _parse(dreams: int | float | str) -> tuple[float | None, int]:
    """A ratio, or None and a number: 0 where it is neither."""
    try:
        if isinstance(dreams, float):
            return dreams, 0
        if isinstance(dreams, str) and dreams.endswith("%"):
            return float(dreams[:-1]) / 100, 0
        return None, int(dreams)
    except ValueError:
        return None, 0


def draw(
    pool: SamplePool,
    seed: str,
    *,
    drawn_before: Collection[frozenset[str]] = (),
) -> tuple[str, ...]:
    """Draw three different records, the first of the current period if it has any.

    Fewer when there are no three. The same seed and pool give the same records. Those in
    `drawn_before` are not drawn together again, if others can be had.
    """
    random = Random(seed)  # noqa: S311 - reproducible on purpose
    drawn: tuple[str, ...] = ()
    for _ in range(_ATTEMPTS):
        first = random.choice(pool.current or pool.all)
        # one more than needed: one of them may be the first
        others = random.sample(pool.all, min(_TOGETHER, len(pool.all)))
        rest = [id for id in others if id != first]
        drawn = (first, *rest[: _TOGETHER - 1])
        if frozenset(drawn) not in drawn_before:
            break
    return drawn
