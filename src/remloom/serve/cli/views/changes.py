"""What changed: texts that replace or amend one another, and what may not hold any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from difflib import unified_diff
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from ....model import Hit, RecallHit, Record, Resource, short_id
from ....model.supersession import MARKS, SUPERSEDED, amended_of
from ..frame.text_formats import one_line, plural, short_source

if TYPE_CHECKING:
    from ....memory import ChainLink, Lineage, LineageEntry
    from ....operations.tools.remember import Remembered

STALE_SHOWN = 10  # records that a report made stale
_DAY = len("2025-01-15")
_TOLD = {*MARKS, "confirmed"}  # metadata that is told in words
_TEXT = 120  # characters of what a record says, beside its id


def with_id(id: str, text: str) -> str:
    """Give an id as it can be typed, and what its record is called or says."""
    said = one_line(text)
    return f"{short_id(id)}  {said if len(said) <= _TEXT else said[: _TEXT - 1] + '…'}"


def stale_lines(count: int, records: Sequence[Record]) -> Iterator[Text]:
    """Say of a report what it made stale.

    Args:
        records: the first of them.
    """
    if count:
        yield Text(f"{plural(count, 'record')} may no longer hold:", "yellow")
    for record in records:
        yield Text(f"  {with_id(record.id, record.name)}", "yellow")
    if count > len(records):
        yield Text(f"  and {count - len(records):,} more: --json has their ids", "yellow")


def draw_remembered(
    done: Remembered, chains: Mapping[str, Sequence[ChainLink]], stale: Sequence[Record]
) -> RenderableType:
    verb = "remembered" if done.added else "it was remembered before:"
    lines = [Text(f"{verb} {' '.join(map(short_id, done.ids))}")]
    older = [link.id for chain in chains.values() for link in chain if link.by in done.ids]
    for id, chain in chains.items():
        lines += [Text(f"  {one}") for one in replacing_lines(chain, id)]
    lines += stale_lines(len(stale), stale[:STALE_SHOWN])
    if done.problem:
        lines.append(Text(f"not embedded: {one_line(done.problem)}", "red"))
    lines += [Text(f"undo: remloom unreplace {short_id(id)}", "dim") for id in older]
    return Group(*lines)


def hit_notes(hit: Hit) -> Iterator[str]:
    """Say of a hit why it may not hold any more, with what changed, and what amends it."""
    if hit.stale is not None:
        yield f"may not hold: {one_line(str(hit.stale))}"
    now = hit.changed if isinstance(hit, RecallHit) else None
    if now is not None:
        text = now.content if isinstance(now, Resource) else now.summary
        yield f"now {with_id(now.id, text or now.name)}"
    if (amended := amended_of(hit.record)) is not None:
        yield f"amended by {short_id(amended.by)}"


# -- texts that replace or amend one another -------------------------------------------------------


def replacing_lines(chain: Sequence[ChainLink], id: str) -> Iterator[str]:
    """Say of one text of a chain what it replaces or amends, and what does so of it."""
    texts = {link.id: link for link in chain}

    def of(id: str) -> str:
        return with_id(id, texts[id].content if id in texts else "(forgotten)")

    for link in chain:
        if link.by == id:
            yield f"replaces {of(link.id)} ({_why(link)})"
    if (own := texts.get(id)) is None:
        return
    if own.amends:
        yield f"amends {of(own.amends)}"
    if own.by:
        yield f"replaced by {of(own.by)} ({_why(own)})"
    for one in own.amended_by:
        yield f"amended by {of(one)}"


def _why(link: ChainLink) -> str:
    was_wrong = link.reason == "wrong"
    said = f"was wrong, said {_day(link.at)}" if was_wrong else f"has changed, {_day(link.since)}"
    return f"it {said}"


def _day(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d}" if at else ""


def _chain_lines(chain: Sequence[ChainLink], id: str) -> Iterator[Text]:
    """Draw what texts said, oldest first: since when, until when, and why no longer."""
    texts = {link.id: link for link in chain}
    began = {link.by: _day(link.since) for link in chain if link.reason == "changed"}
    for link in chain:
        is_asked = link.id == id
        text = f"{'→' if is_asked else ' '} {with_id(link.id, link.content)}"
        yield Text(text, "bold" if is_asked else "")
        facts = [f"since {began[link.id]}"] if link.id in began else []
        facts += [f"amends {short_id(link.amends)}"] if link.amends else []
        if link.reason == "wrong":
            facts.append(f"never held: {_why(link)}")
        elif link.by:
            facts.append(f"until {_day(link.since)}: it has changed")
        if link.by:
            gone = "" if link.by in texts else ", which is forgotten"
            facts.append(f"replaced by {short_id(link.by)}{gone}")
        if facts:
            yield Text(f"    {'; '.join(facts)}", "dim")


# -- how a record came to be -----------------------------------------------------------------------


def draw_lineage(lineage: Lineage) -> RenderableType:
    """Draw the texts that replaced one another, the changes of a record as a diff, newest first,
    and what it was made of."""
    first, *made_of = lineage.entries
    parts = [Text.assemble((one_line(first.name), "bold"), f"  {first.id}"), *_notes(first, "")]
    parts += _chain_lines(lineage.chain, first.id)
    changes = [(change.at, told) for change in lineage.changes if (told := _told(change.changed))]
    for at, changed in changes:
        parts.append(Text(f"changed {at:%Y-%m-%d %H:%M:%S}", "dim"))
        parts += _change_lines(changed)
    if not changes and not lineage.chain:
        parts.append(Text("no change is kept", "dim"))
    for entry in made_of:
        indent = "  " * entry.depth
        source = f"  {short_source(entry.source)}" if entry.source != entry.name else ""
        parts.append(Text(f"{indent}from {with_id(entry.id, entry.name)}{source}", "blue"))
        parts += _notes(entry, indent)
    return Group(*parts)


def _notes(entry: LineageEntry, indent: str) -> Iterator[Text]:
    if entry.stale is not None:
        yield Text(f"{indent}  may not hold: {one_line(str(entry.stale))}", "yellow")
    if confirmed := entry.confirmed:
        by = f" by {one_line(confirmed['by'])}" if "by" in confirmed else ""
        on = f" on {one_line(confirmed['at'])[:_DAY]}" if "at" in confirmed else ""
        yield Text(f"{indent}  said to hold all the same{by}{on}", "green")


def _told(changed: Mapping[str, Any]) -> dict[str, Any]:
    """What changed, without what is told in words: marks, and the text that they hide."""
    metadata = changed.get("metadata", {})
    marks = metadata.keys() & _TOLD if isinstance(metadata, Mapping) else set()
    told = {name: step for name, step in changed.items() if name != "metadata"}
    if SUPERSEDED in marks:
        told = {name: step for name, step in told.items() if name not in ("content", "context")}
    if left := {name: metadata[name] for name in metadata if name not in marks}:
        told["metadata"] = left
    return told


def _change_lines(changed: Mapping[str, Any]) -> Iterator[Text]:
    for field, step in changed.items():
        # of free values each has its own
        if all(isinstance(one, dict) and one.keys() == {"from", "to"} for one in step.values()):
            for name in step:
                yield from _diff(f"{field}.{name}", step[name])
        else:
            yield from _diff(field, step)


def _diff(name: str, step: Mapping[str, Any]) -> Iterator[Text]:
    was, now = (_lines(step[side]) for side in ("from", "to"))
    yield Text(f"  {one_line(name)}", "bold")
    for line in islice(unified_diff(was, now, lineterm="", n=1), 2, None):
        style = {"+": "green", "-": "red"}.get(line[0], "dim")
        if line[0] != "@":
            yield Text(f"    {line[0]} {one_line(line[1:])}", style)


def _lines(value: Any) -> list[str]:
    if value in (None, ""):
        return []
    return value.splitlines() if isinstance(value, str) else [msgspec.json.encode(value).decode()]
