"""Which records are dreamt about together: three, one of them of the current period (seed 1)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from random import Random

from msgspec import Struct

from ..errors import InvalidInputError
from ..model import Resource
from ..store.premises import find_stale
from .context import DreamContext
from .periods import Period, period_bounds
from .synthesis import derived_id

REM_DREAM = "rem_dream"  # the kind of the records that dreams are
_DREAMS = 100  # seed 1: num_dreams
_TOGETHER = 3  # records
_ATTEMPTS = 10  # to draw records that were not drawn together before


class SamplePool(Struct, frozen=True):
    """Ids of what may be dreamt about; their order depends on nothing but the records."""

    current: tuple[str, ...]  # of the current period
    all: tuple[str, ...]


class Cycle(Struct, frozen=True, kw_only=True):
    """One REM cycle to be gone through."""

    # of the current period: a month or year such as "2021-03"; any other: see `ids`; empty: all of
    # memory
    label: str
    seed: str
    dreams: int | float | str | None = None  # see `sampling.number_of_dreams`
    # marked as dreamt about at the end; of an interrupted cycle, how far it came
    period: Period | None = None
    ids: tuple[str, ...] = ()  # of the current period, where the label is not a time

    def id(self, tenant: str) -> str:
        """The id that the cycle's dreams have in their metadata."""
        return derived_id(tenant, "cycle", self.label, self.seed)


class DreamPlan(Struct, frozen=True):
    """A dream to come."""

    id: str
    node_ids: tuple[str, ...]
    label: str  # of the period
    seed: str

    @property
    def until(self) -> datetime | None:
        """The last instant of the period: what is later is not known yet."""
        bounds = period_bounds(self.label)
        return bounds[1] if bounds else None


def sample_pool(context: DreamContext, cycle: Cycle) -> SamplePool:
    """The resources with words that may be built upon, none later than the cycle's period.

    One pass over the store.
    """
    bounds = period_bounds(cycle.label)
    members = frozenset(cycle.ids)
    cycle_id = cycle.id(context.tenant)

    def is_current(record: Resource) -> bool:
        if members:
            return record.id in members
        if bounds is None:
            return True
        return record.starts_at is not None and bounds[0] <= record.starts_at <= bounds[1]

    current, every, derived = [], [], []
    for record in context.store.records.all("resources"):
        if not isinstance(record, Resource) or not record.content.strip():
            continue
        is_later = bounds and record.starts_at and record.starts_at > bounds[1]
        # an interrupted cycle draws from what there was before it
        is_own = record.kind == REM_DREAM and record.metadata.get("cycle") == cycle_id
        if record.generation >= context.depth or is_later or is_own:
            continue
        every.append(record.id)
        if record.generation:
            derived.append(record.id)
        if is_current(record):
            current.append(record.id)
    stale = find_stale(context.store.records, derived)
    return SamplePool(
        tuple(sorted({*current} - stale.keys())), tuple(sorted({*every} - stale.keys()))
    )


def plan_dreams(
    context: DreamContext,
    cycle: Cycle,
    pool: SamplePool,
    count: int,
) -> Iterator[DreamPlan]:
    drawn: set[frozenset[str]] = set()
    for number in range(count):
        node_ids = draw(pool, f"{cycle.label}\n{cycle.seed}\n{number}", drawn_before=drawn)
        if len(node_ids) < 2:
            return
        drawn.add(frozenset(node_ids))
        id = derived_id(context.tenant, "dream", cycle.label, cycle.seed, str(number), *node_ids)
        yield DreamPlan(id, node_ids, cycle.label, cycle.seed)


def number_of_dreams(dreams: int | float | str | None, pool: SamplePool) -> int:
    """How many dreams: a number, or a ratio of the records ("10%", 0.1); by default 100, but one
    for each record of the period at most.

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
    """Draw three different records, or fewer, the first of the current period if it has any.

    The same seed and pool give the same records. Those in `drawn_before` are not drawn together
    again, if others can be had.
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
