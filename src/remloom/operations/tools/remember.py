"""The tool `remember`: a text, or the turns of a chat."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from ... import labels
from ...errors import InvalidInputError, NotFoundError
from ...memory.memory import Memory
from ...model import Edge, Message, ReadReport, Resource, edge_types
from ...model.records import set_values
from ...model.supersession import SUPERSEDED, superseded_of, without_mark
from ...predicates import Contains, Eq, Query
from ...store.meanings import by_id
from ...store.rules.premise_entries import checked_slots, is_id
from ...store.rules.record_ids import digest_of, uri_of
from ...text.quoting import one_line
from ..bounds import LONGEST_LABEL, NO_NUL, Label, Text, Time, parse_time
from ..operation import Progress, tool
from .stale import name_lines, name_stale

_SHORT = 60  # characters of a text that are its name, when it has none


class Turn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A turn of a chat."""

    speaker: Annotated[str, Meta(max_length=LONGEST_LABEL, pattern=NO_NUL)] = ""
    text: Text
    at: Time = ""
    role: Annotated[str, Meta(max_length=40, description="user, assistant, tool, …")] = ""

    @property
    def message(self) -> Message:
        """The turn as it is read, without a time; one without a speaker is said by its role."""
        speaker = self.speaker or self.role
        return Message(
            speaker=speaker, text=self.text, role=self.role if self.role != speaker else ""
        )


class RememberTakes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `remember`: a text or messages."""

    text: Text = ""
    messages: Annotated[list[Turn], Meta(max_length=1000)] = []
    name: Annotated[str, Meta(max_length=200, description="a short title")] = ""
    at: Annotated[Time, Meta(description="when it was said or written; default now")] = ""
    source: Annotated[
        str, Meta(max_length=1000, description="where it is from: a page, or the id of a chat")
    ] = ""
    about: Annotated[
        list[Label], Meta(max_length=50, description="names of whom and what it is about")
    ] = []
    rests_on: Annotated[
        list[Label],
        Meta(max_length=50, description='what it depends on, as "Team Orion.lead"'),
    ] = []
    replaces: Annotated[str, Meta(max_length=200, description="id of what this replaces")] = ""
    amends: Annotated[str, Meta(max_length=200, description="id of what this adds to")] = ""
    reason: Annotated[Literal["", "changed", "wrong"], Meta(description="default changed")] = ""
    since: Annotated[Time, Meta(description="when it changed; default now")] = ""


class Remembered(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was remembered, and how it is found.

    Attributes:
        ids: of the texts, those that were there before too.
        added: how many of them are new.
        entities: whom and what they name.
        found_by_text: on disk, and found by words and names.
        vectors_waiting: texts of this memory that are not found by their meaning yet.
        stale: how many rest on what this replaced or amended, and may not hold any more.
        stale_names: of the first of these, by id.
    """

    ids: list[str]
    added: int
    entities: list[str]
    found_by_text: bool
    vectors_waiting: int
    problem: str = ""
    stale: int = 0
    stale_names: dict[str, str] = {}


def _remember(memory: Memory, values: RememberTakes, progress: Progress | None) -> Remembered:
    """Remember a text, or the turns of a chat. Returns when it is on disk and found by words.
    The same from the same source is remembered once. Write whole sentences with names and
    dates; no secrets. If something changed or was wrong, remember what holds now, and say by
    `replaces` what it replaces.
    """
    if bool(values.text.strip()) == bool(values.messages):
        raise InvalidInputError(
            "remember takes a text, or messages", remedy='give one of them: {"text": "…"}'
        )
    if values.messages and values.rests_on:
        raise InvalidInputError(
            "a chat rests on nothing", remedy="remember what rests on it as a text"
        )
    if values.messages and (values.replaces or values.amends):
        raise InvalidInputError(
            "a chat replaces and amends nothing", remedy="remember what replaces it as a text"
        )
    # what cannot be a label is refused before anything is written
    slots = [_whole_id(memory, slot) for slot in checked_slots(values.rests_on)]
    values = replace(values, rests_on=slots)
    about = [label for label in values.about if labels.key(label)]
    read = _read_messages if values.messages else _read_text
    report = read(memory, values, parse_time(values.at, "at"))
    edges = (
        Edge(
            src=id,
            rel_type=edge_types.ABOUT.name,
            dst=label,
            weight=edge_types.ABOUT.weight,
            properties={"dst_name": label},
        )
        for id in report.ids
        for label in about
    )
    resting = (
        replace(memory.get_resource(id), rests_on=tuple(values.rests_on))
        for id in (report.ids if values.rests_on else ())
    )
    beside = memory.write([*edges, *resting])
    named = (name for id in report.ids for name in memory.get_resource(id).related_entities)
    return Remembered(
        ids=list(report.ids),
        added=report.resources,
        entities=list(dict.fromkeys((*named, *about))),
        found_by_text=True,
        vectors_waiting=report.pending,
        problem=report.embedding_error,
        stale=report.stale + beside.stale,
        stale_names=name_stale(memory, (*report.stale_ids, *beside.stale_ids)),
    )


def _whole_id(memory: Memory, slot: str) -> str:
    """The id that a text begins, else the text: a name, or an attribute of what has it."""
    record = by_id(memory.admin.store, slot)
    if record is None and is_id(slot):
        raise NotFoundError(
            f"rests_on has {slot!r}, which is the id of no record",
            remedy="remember what it rests on first, or give its name",
        )
    return slot if record is None else record.id


def _read_text(memory: Memory, values: RememberTakes, at: datetime | None) -> ReadReport:
    """Read a text; one that is remembered from this source is left as it is."""
    # Another text from the same source stands beside it: reading it under the same uri would
    # replace this one.
    source = values.source if values.source.strip() else ""
    uri = uri_of(source, values.text)
    known = memory.query_resources(Query(where=Eq("uri", uri), order=(("ordinal", "asc"),)))
    since = parse_time(values.since, "since")
    said = set_values(
        replaces=values.replaces, amends=values.amends, reason=values.reason, since=since
    )
    if known and all(record.origin == source for record in known):
        if said or superseded_of(known[0]):
            # written again, it is refused if it was replaced itself
            written = memory.write([replace(without_mark(known[0], SUPERSEDED), **said)])
            return ReadReport(
                ids=tuple(record.id for record in known),
                stale=written.stale,
                stale_ids=written.stale_ids,
            )
        return ReadReport(ids=tuple(record.id for record in known))
    name = values.name or _name_of(values.text)
    report = memory.read_text(
        values.text,
        uri=uri,
        name=name,
        at=at or datetime.now(UTC),
        origin=source,
        wait=False,
        **said,
    )
    # what is left out of a text that was read is no reason
    for item in () if report.ids else report.skipped:
        raise InvalidInputError(f"this text was not remembered: {item.reason}")
    return report


def _read_messages(memory: Memory, values: RememberTakes, at: datetime | None) -> ReadReport:
    """Append turns to the chat of that source; a call that is repeated appends nothing."""
    turns = [_turn_key(turn, number) for number, turn in enumerate(values.messages)]
    encoded = msgspec.json.encode(turns).decode()
    digest = digest_of(encoded)
    uri = values.source or uri_of("", encoded)
    known = _find_turn(memory, uri, f"{digest}-0")
    at = at or (known.starts_at if known else datetime.now(UTC))
    messages = [
        replace(turn.message, id=f"{digest}-{number}", at=parse_time(turn.at, "at") or at)
        for number, turn in enumerate(values.messages)
    ]
    return memory.read_chat(messages, uri=uri, name=values.name or None, append=True, wait=False)


def _turn_key(turn: Turn, number: int) -> dict[str, str]:
    """What a turn is known by when a call is repeated.

    Raises:
        InvalidInputError: nobody says it.
    """
    message = turn.message
    if not message.speaker:
        raise InvalidInputError(
            f"messages[{number}] says not who said it",
            remedy='give its speaker or role: {"speaker": "Ann", "role": "user", "text": "…"}',
        )
    known = {"speaker": message.speaker, "text": turn.text, "at": turn.at}
    return {**known, "role": message.role} if message.role else known


def _find_turn(memory: Memory, uri: str, id: str) -> Resource | None:
    query = Query().filter(Eq("uri", uri)).filter(Contains("metadata.message_ids", id))
    return next(iter(memory.query_resources(query.limit(1))), None)


def _name_of(text: str) -> str:
    line = " ".join(text.strip().splitlines()[0].strip("# ").split())
    if len(line) <= _SHORT:
        return line
    return line[:_SHORT].rpartition(" ")[0] or line[:_SHORT]


def _text(value: Remembered) -> str:
    added = "Remembered" if value.added else "It was remembered before"
    lines = [f"{added}: on disk, and found by words and names."]
    if value.vectors_waiting:
        lines.append(f"Not found by meaning yet: {value.vectors_waiting} texts wait for a vector.")
    if value.problem:
        lines.append(f"They wait because: {one_line(value.problem, 0)}")
    lines.append(f"ids: {', '.join(map(one_line, value.ids))}")
    if value.stale:
        things = "1 thing rests" if value.stale == 1 else f"{value.stale:,} things rest"
        lines.append(f"{things} on what you replaced, and may not hold any more:")
        lines += name_lines(value.stale_names)
    return "\n".join(lines)


REMEMBER = tool(
    _remember,
    text=_text,
    scope="write",
    aliases={
        "content": "text",
        "memory": "text",
        "title": "name",
        "uri": "source",
        "timestamp": "at",
        "messages.name": "speaker",
        "messages.content": "text",
    },
)
