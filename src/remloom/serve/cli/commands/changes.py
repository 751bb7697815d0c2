"""What changed: `remember`, which says what a text replaces, `unreplace`, `show` and `history`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from ....errors import InvalidInputError
from ....model import Record, Resource, record_dict
from ....model.supersession import MARKS
from ..frame.command import Report
from ..frame.text_formats import plural
from .records import as_named

if TYPE_CHECKING:
    from ....memory import ChainLink, Lineage, Memory, RecordView


def remember(
    memory: Memory,
    text: str,
    *,
    replaces: str = "",
    amends: str = "",
    reason: Literal["changed", "wrong"] | None = None,
    since: datetime | None = None,
    rests_on: Sequence[str] = (),
    about: Sequence[str] = (),
    name: str = "",
    at: datetime | None = None,
    source: str = "",
) -> Report:
    """Remember a text, and say what it replaces or adds to; - is stdin.

    What is replaced is found no more: `remloom history` shows it, and `remloom unreplace` brings it
    back. The same text from the same source is remembered once. Makes the tenant if need be.

    Args:
        replaces: the older text that this one takes the place of; eight digits of its id will do.
        amends: the older text that this one adds to; both are found.
        reason: why it is replaced. [default: changed]
        since: when it changed, such as 2025-01-15. [default: now]
        rests_on: what it depends on, as "Team Orion.lead"; repeat it for several.
        about: whom or what it is about; repeat it for several.
        name: a short title. [default: how it begins]
        at: when it was said or written. [default: now]
        source: where it is from: a page, or the id of a chat.
    """
    from ....operations.tools.remember import REMEMBER, RememberTakes
    from ..views.changes import draw_remembered

    takes = RememberTakes(
        text=sys.stdin.read() if text == "-" else text,
        replaces=replaces,
        amends=amends,
        reason=reason or "",
        since=since.isoformat() if since else "",
        rests_on=list(rests_on),
        about=list(about),
        name=name,
        at=at.isoformat() if at else "",
        source=source,
    )
    done = REMEMBER.does(memory, takes, None)
    chains = _chains(memory, [memory.get_resource(id) for id in done.ids])
    stale = _resting(memory, done.ids) if replaces or amends else []
    return Report(done, lambda: draw_remembered(done, chains, stale))


def unreplace(memory: Memory, id: str) -> Report:
    """Bring back a text that was replaced, or take back that it was added to.

    The newer text stays as it is.
    """
    from ..views.changes import with_id

    text = memory.unreplace(id)
    return Report(record_dict(text), f"holds again: {with_id(text.id, text.content)}")


def show(memory: Memory, what: str, *, as_of: datetime | None = None) -> Report:
    """Show one record whole, with its edges and its sources, and what replaced it.

    Args:
        as_of: what had this label then, as it was, such as 2025-01-15.
    """
    from ..views.answers import draw_record_view

    view: RecordView = as_named(what, lambda name: memory.admin.describe(name, as_of=as_of))
    chains = _chains(memory, [described.record for described in view.records])
    return Report(view, lambda: draw_record_view(view, chains))


def history(memory: Memory, what: str) -> Lineage:
    """Show what a text replaced and what replaced it, and how a record came to be.

    How it changed, newest first, and what it was made of.
    """
    view = as_named(what, memory.admin.describe)
    ids = [described.record.id for described in view.records]
    if len(ids) != 1:
        raise InvalidInputError(
            f"{what!r} means {plural(len(ids), 'record')}", remedy=f"name one: {' '.join(ids[:5])}"
        )
    return memory.history(ids[0])


def name_stale(memory: Memory, report: Any) -> Report:
    """Show a report, and by name what it made stale."""
    from rich.console import Group

    from ..frame.results import draw
    from ..views.changes import stale_lines

    records = _first(memory, report.stale_ids)
    return Report(report, lambda: Group(draw(report), *stale_lines(report.stale, records)), report)


def _resting(memory: Memory, ids: Sequence[str]) -> list[Record]:
    """What may not hold any more, as it rests on what these texts replaced or amended."""
    statement = "TRAVERSE WITH SELECT id FROM {} WHERE stale LIMIT 1000 DEPTH 0"
    found = (memory.query(statement.format(schema)) for schema in ("resources", "moments"))
    nodes = (node for answer in found for node in answer.nodes)
    return [node.record for node in nodes if node.stale is not None and node.stale.by in ids]


def _first(memory: Memory, ids: Sequence[str]) -> list[Record]:
    from ..views.changes import STALE_SHOWN

    return [memory.admin.describe(id).records[0].record for id in ids[:STALE_SHOWN]]


def _chains(memory: Memory, records: Sequence[Record]) -> Mapping[str, Sequence[ChainLink]]:
    """By id of those that are texts which replaced or amended others, or the other way round."""
    marked = [one for one in records if isinstance(one, Resource) and one.metadata.keys() & MARKS]
    return {one.id: memory.history(one.id).chain for one in marked}
