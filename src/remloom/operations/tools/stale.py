"""The tools `confirm` and `refresh`: what is done about what may not hold any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta, Struct

from ...engine.fetching import find_by_id
from ...memory.memory import Memory
from ...model import Record
from ...model.records import short_id
from ...model.supersession import successor_of, superseded_of
from ...store.premises import find_stale
from ...text.quoting import one_line
from ..bounds import Label, Labels
from ..operation import Hints, Progress, tool

_MOST_NAMED = 20  # of what became stale, that are told
_LONGEST = 200  # characters of a text that are told


def name_stale(memory: Memory, ids: Iterable[str]) -> dict[str, str]:
    """Give the names of the first of some records, by id."""
    found = (memory.admin.store.records.get(None, id) for id in list(ids)[:_MOST_NAMED])
    return {record.id: record.name for record in found if record is not None}


def name_lines(names: dict[str, str]) -> list[str]:
    return [f"> {one_line(short_id(id))} {one_line(name)}" for id, name in names.items()]


class ConfirmTakes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `confirm`."""

    what: Annotated[Labels, Meta(description="ids")]


class Confirmed(Struct, frozen=True, kw_only=True):
    """The names, by id, of what holds all the same, and of what holds again."""

    confirmed: dict[str, str]
    brought_back: dict[str, str]


def _confirm(memory: Memory, values: ConfirmTakes, progress: Progress | None) -> Confirmed:
    """Say that ids hold all the same: what may not hold any more does; what was replaced or
    amended by mistake holds again as it was.
    """
    store = memory.admin.store
    records = {one.id: one for one in (find_by_id(store, id) for id in values.what)}
    stale = find_stale(store.records, records)
    back = [one for one in records.values() if _is_to_come_back(one, is_stale=one.id in stale)]
    held = [id for id in records if records[id] not in back]
    if held:
        # refuses what rests on nothing, before anything is written
        memory.confirm(*held)
    for one in back:
        memory.unreplace(one.id)
    return Confirmed(
        confirmed={id: records[id].name for id in held},
        brought_back={one.id: one.name for one in back},
    )


def _is_to_come_back(record: Record, *, is_stale: bool) -> bool:
    """Whether it holds only if what replaced or amended it is taken back."""
    return superseded_of(record) is not None or (successor_of(record) != "" and not is_stale)


def _confirm_text(value: Confirmed) -> str:
    lines = ["Holds, by what it rests on now:", *name_lines(value.confirmed)]
    back = ["Holds again, as before it was replaced or amended:", *name_lines(value.brought_back)]
    return "\n".join((lines if value.confirmed else []) + (back if value.brought_back else []))


CONFIRM = tool(
    _confirm,
    text=_confirm_text,
    scope="write",
    aliases={"id": "what", "ids": "what"},
)


class RefreshTakes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `refresh`."""

    what: Annotated[list[Label], Meta(max_length=50, description="ids; default all")] = []
    dry_run: Annotated[bool, Meta(description="only tells what would be done")] = False


class RefreshedItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of something that might not hold any more; see `remloom.dream.refresh`."""

    id: str
    name: str
    outcome: str
    why: str
    after: str = ""


class RefreshedItems(Struct, frozen=True, kw_only=True):
    """What was stale, each with what became of it."""

    dry_run: bool
    stale: list[RefreshedItem]


def _refresh(memory: Memory, values: RefreshTakes, progress: Progress | None) -> RefreshedItems:
    """Make insights, summaries and moments again whose sources changed. Lists what you wrote
    yourself: replace or confirm it.
    """
    ids = [find_by_id(memory.admin.store, id).id for id in values.what]
    found = memory.dreams.refresh(ids or None, dry_run=values.dry_run, progress=progress)
    items = [
        RefreshedItem(id=one.id, name=one.name, outcome=one.outcome, why=one.why, after=one.after)
        for one in found.stale
    ]
    return RefreshedItems(dry_run=values.dry_run, stale=items)


# outcomes as an agent reads them
_TOLD = {
    "again": "made again",
    "same": "says the same",
    "retired": "retired: nothing follows from what is left",
    "yours": "yours: replace or confirm it",
    "waits": "waits for one of those, or for a model",
    "failed": "failed",
}


def _refresh_text(value: RefreshedItems) -> str:
    if not value.stale:
        return "All holds that is remembered."
    lines = ["Nothing was done yet; it would be:" if value.dry_run else "Done, as quoted data:"]
    for one in value.stale:
        id = one_line(short_id(one.id))
        lines.append(f"> {id} {one_line(one.name)}: {_TOLD[one.outcome]} ({one_line(one.why, 0)})")
        if one.after:
            lines.append(f"> now: {one_line(one.after, _LONGEST)}")
    return "\n".join(lines)


REFRESH = tool(
    _refresh,
    text=_refresh_text,
    scope="dream",
    hints=Hints(idempotent=True),
    is_long=True,
    aliases={"id": "what", "ids": "what"},
)
