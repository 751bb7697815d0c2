"""The tool `forget`: what is remembered, and all that was made of it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from ...memory.memory import Memory
from ...model import TargetKind
from ...text.quoting import one_line, quoted
from ..bounds import Labels
from ..operation import Hints, Progress, tool

_MOST_NAMES = 20  # of what goes, that are told
_MOST_IDS = 10  # of what says a name and stays


class ForgetTakes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `forget`."""

    what: Annotated[Labels, Meta(description="ids, names or sources")]
    by: Annotated[
        TargetKind | None, Meta(description="what these are, where one means several things")
    ] = None
    dry_run: Annotated[bool, Meta(description="only tells what would go")] = True


class Forgotten(Struct, frozen=True, kw_only=True):
    """A receipt of what went, or would go; see `remloom.Receipt`."""

    dry_run: bool
    names: list[str]
    ids: list[str]
    records: int
    vectors: int
    keys: int
    edges: int
    derived: int
    verified: bool
    remaining: list[str]
    pending: list[str]
    named_in: list[str]
    namings: str
    sharing: str  # edges that stay at a name of it which others have too


def _forget(memory: Memory, values: ForgetTakes, progress: Progress | None) -> Forgotten:
    """Forget ids, names or sources, and all that was made of them, for good. dry_run is true by
    default: look at what would go, ask the user, then call with dry_run=false.
    """
    would_go = memory.forget(*values.what, by=values.by, dry_run=True)
    names = [memory.history(id).entries[0].name for id in would_go.ids[:_MOST_NAMES]]
    receipt = would_go if values.dry_run else memory.forget(*values.what, by=values.by)
    return Forgotten(
        dry_run=values.dry_run,
        names=names,
        ids=list(receipt.ids),
        records=receipt.records,
        vectors=receipt.vectors,
        keys=receipt.keys,
        edges=receipt.edges,
        derived=receipt.derived,
        verified=receipt.verified,
        remaining=list(receipt.remaining),
        pending=list(receipt.pending),
        named_in=list(receipt.named_in),
        namings=receipt.namings,
        sharing=receipt.sharing,
    )


def _text(value: Forgotten) -> str:
    derived = f" ({value.derived} of them derived)" if value.derived else ""
    counts = f"{_counted(value.records, 'record')}{derived}, {_counted(value.edges, 'edge')}"
    names = f"\n> {', '.join(map(one_line, value.names))}" if value.names else ""
    them = "it" if len(value.named_in) == 1 else "them"
    notes = (
        f"\n{one_line(value.namings, 0)}. To forget {them} too, {_ids(value)}"
        if value.namings
        else ""
    )
    if value.sharing:
        stay, _, edges = value.sharing.partition(": ")  # of which the names are remembered
        notes = f"\n{stay}:\n> {one_line(edges, 0)}{notes}"
    if value.dry_run:
        remedy = "Nothing is forgotten yet: call again with dry_run=false to forget them."
        return f"Would go: {counts}.{names}{notes}\n{remedy}"
    checked = "Nothing of it remains." if value.verified else "Some of it remains:"
    remaining = f"\n> {', '.join(map(one_line, value.remaining))}" if value.remaining else ""
    return f"Forgotten: {counts}.{names}\n{checked}{remaining}{notes}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _ids(value: Forgotten) -> str:
    shown = ", ".join(map(quoted, value.named_in[:_MOST_IDS]))
    more = len(value.named_in) - _MOST_IDS
    return f"forget {shown}" + (f" and {more:,} more (named_in has them)" if more > 0 else "")


FORGET = tool(
    _forget,
    text=_text,
    scope="forget",
    hints=Hints(destructive=True, idempotent=True),
    aliases={"id": "what", "ids": "what", "targets": "what", "label": "what", "name": "what"},
)
