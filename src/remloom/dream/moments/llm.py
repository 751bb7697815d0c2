"""Moments as a model tells them: what happened in a session, with every field of seed 5."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct

from ... import labels
from ...errors import BudgetError, LabelError, ModelError
from ...ingest.documents import identity, label
from ...kv import Entry
from ...llm import LLM, Call
from ...model import Edge, Moment, Person, Resource, Speaker
from ...runs.failures import failed_item_entry, failed_item_key
from ...runs.writer import Writer
from ...store.contract import Store
from ...text.sentences import count_words
from ..context import quote_resource
from . import describe
from .extract import connections, outgrown, part_id, part_of
from .sessions import MADE_BY, Session, happened

__all__ = ["TOLD", "tell"]

# kind of the journal entries that say that the model told what happened in some resources
TOLD = "told"
KIND = "moments"  # of run
_WORDS = 1_500  # of one call


# What is asked for, not what is refused: a small model is held to it, and longer words are taken
# all the same.
Name: TypeAlias = Annotated[str, Meta(extra_json_schema={"maxLength": 60})]
Tag: TypeAlias = Annotated[str, Meta(extra_json_schema={"maxLength": 32})]
Tags: TypeAlias = Annotated[list[Tag], Meta(extra_json_schema={"maxItems": 4})]


class Present(Struct, frozen=True):
    name: Name
    role: Tag = ""


class Spoke(Struct, frozen=True):
    name: Name
    speaking_time: float = 0.0  # seconds


class MomentDraft(Struct, frozen=True, kw_only=True):
    """A moment in words. Times are ISO 8601, or empty."""

    name: Name
    summary: Annotated[str, Meta(extra_json_schema={"maxLength": 400})]
    type: Tag = ""
    starts_at: Tag = ""
    ends_at: Tag = ""
    present_persons: Annotated[list[Present], Meta(extra_json_schema={"maxItems": 6})] = []
    speakers: Annotated[list[Spoke], Meta(extra_json_schema={"maxItems": 6})] = []
    emotion_tags: Tags = []
    topic_tags: Tags = []
    classifications: Tags = []
    entities: Annotated[list[Name], Meta(extra_json_schema={"maxItems": 6})] = []


Telling: TypeAlias = Annotated[list[MomentDraft], Meta(extra_json_schema={"maxItems": 5})]


class _Piece(Struct, frozen=True):
    """What is put to the model at once."""

    id: str
    resources: tuple[Resource, ...]
    within: Moment


def tell(
    store: Store, writer: Writer, llm: LLM, sessions: Sequence[tuple[Session, Moment]]
) -> None:
    """Have the model tell what happened in these sessions, each with its moment, unless it told
    before.

    Raises:
        BudgetError: the run's budget is spent; what was told is written, and the rest waits for the
            next run.
    """
    pieces = [piece for session, whole in sessions for piece in _pieces(store, session, whole)]
    waiting = [piece for piece in pieces if store.kv.get(TOLD, piece.id) is None]
    replies = llm.ask_all([_asking(piece) for piece in waiting])
    writer.count_calls(replies)
    spent: BudgetError | None = None
    for piece, reply in zip(waiting, replies, strict=True):
        if isinstance(reply, BudgetError):
            spent = reply
        elif isinstance(reply, ModelError):
            ids = [resource.id for resource in piece.resources]
            writer.write(
                entries=[failed_item_entry(store, KIND, piece.id, reply, ids, run_id=writer.run.id)]
            )
        else:
            _write(store, writer, llm.name, piece, reply)
    if spent:
        raise spent


def _pieces(store: Store, session: Session, whole: Moment) -> Iterator[_Piece]:
    """A session in pieces that a model can take at once, cut where its topics do."""
    spans = session.parts or ((0, len(session.resources)),)
    for first, last in spans:
        stored = (
            store.records.get("moments", part_id(session.resources[first:last]))
            if session.parts
            else None
        )
        within = stored if isinstance(stored, Moment) else whole
        piece: list[Resource] = []
        words = 0
        for resource in session.resources[first:last]:
            size = count_words(resource.content)
            if piece and words + size > _WORDS:
                yield _piece(piece, within)
                piece, words = [], 0
            piece.append(resource)
            words += size
        if piece:
            yield _piece(piece, within)


def _piece(resources: Sequence[Resource], within: Moment) -> _Piece:
    return _Piece(
        identity("told", *(resource.id for resource in resources)), tuple(resources), within
    )


def _asking(piece: _Piece) -> Call:
    first, last = _bounds(piece)
    slots = {
        "session": [_quoted(resource) for resource in piece.resources],
        "people": ", ".join(person.name for person in describe.people(piece.resources))
        or "nobody known",
        "starts": first.isoformat(),
        "ends": last.isoformat(),
    }
    return Call(
        "moment",
        slots,
        returns=Telling,
        subjects=tuple(resource.id for resource in piece.resources),
    )


def _quoted(resource: Resource) -> Any:
    when = resource.starts_at.isoformat() if resource.starts_at else ""
    speaker = resource.metadata.get("speaker")
    said = (
        f"{speaker}: {resource.content}"
        if isinstance(speaker, str) and speaker
        else resource.content
    )
    return msgspec.structs.replace(quote_resource(resource), text=said, note=when)


def _write(
    store: Store, writer: Writer, model: str, piece: _Piece, told: Sequence[MomentDraft]
) -> None:
    """Write what was told, and that it was: "nothing happened" is what the model said, too."""
    first = {
        _key(one.name): number for number, one in reversed(list(enumerate(told)))
    }  # small models repeat themselves
    moments = [
        moment
        for number, one in enumerate(told)
        if first[_key(one.name)] == number and (moment := _moment(store, model, piece, number, one))
    ]
    edges: list[Edge] = [
        edge for moment in moments for edge in connections(moment, piece.resources)
    ]
    edges += [part_of(moment, piece.within) for moment in moments]
    data = msgspec.json.encode({"model": model, "moments": [moment.id for moment in moments]})
    done = Entry(TOLD, piece.id, data, refs=tuple(resource.id for resource in piece.resources))
    writer.count(told=len(moments), nothing=int(not moments))
    before = outgrown(store, piece.resources, {moment.id for moment in moments}, told=True)
    writer.write(
        [*moments, *before], edges, entries=[done], deleted=[failed_item_key(KIND, piece.id)]
    )


def _moment(
    store: Store, model: str, piece: _Piece, number: int, told: MomentDraft
) -> Moment | None:
    name = _named(store, piece, told.name)
    if not name:
        return None
    starts, ends = _times(piece, told)
    spoke = describe.speakers(piece.resources)
    known = {labels.key(speaker.name) for speaker in spoke}
    present = [Person(name=one.name, role=one.role) for one in told.present_persons]
    persons = _persons([*describe.people(piece.resources), *present])
    return Moment(
        id=identity(piece.id, str(number)),
        name=name,
        type=_tag(told.type) or "conversation",
        starts_at=starts,
        ends_at=ends,
        present_persons=persons,
        speakers=(
            *spoke,
            *(_speaker(one) for one in told.speakers if _key(one.name) not in (*known, "")),
        ),
        emotion_tags=_tags(told.emotion_tags),
        topic_tags=_tags(told.topic_tags),
        classifications=_tags(told.classifications),
        summary=told.summary.strip(),
        resource_refs=tuple(resource.id for resource in piece.resources),
        entity_refs=tuple(dict.fromkeys([*(one.name for one in persons), *_tags(told.entities)])),
        parent_moment=piece.within.id,
        metadata={MADE_BY: model},
    )


def _speaker(spoke: Spoke) -> Speaker:
    return Speaker(name=spoke.name, speaking_time=spoke.speaking_time)


def _named(store: Store, piece: _Piece, name: str) -> str:
    """The name, with its day where something else bears it already; empty when it is none."""
    if not _key(name):
        return ""
    shown = label(name)
    taken = any(
        isinstance(record, Moment)
        for record in store.records.lookup([labels.key(shown)], edges=0)[labels.key(shown)]
    )
    return label(f"{shown}, {_bounds(piece)[0].date().isoformat()}") if taken else shown


def _bounds(piece: _Piece) -> tuple[datetime, datetime]:
    times = [happened(resource) for resource in piece.resources]
    return min(times), max(
        [*times, *(resource.ends_at for resource in piece.resources if resource.ends_at)]
    )


def _times(piece: _Piece, told: MomentDraft) -> tuple[datetime, datetime]:
    """When it happened, as told; where that cannot be read, or ends before it begins, when it was
    spoken of."""
    first, last = _bounds(piece)
    starts, ends = _time(told.starts_at), _time(told.ends_at)
    if starts is None and ends is None:
        return first, last
    starts = starts or min(first, ends or first)
    return starts, ends if ends and ends >= starts else starts


def _time(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text.strip())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _persons(persons: Sequence[Person]) -> tuple[Person, ...]:
    """Each once, with the role that is told of them."""
    found: dict[str, Person] = {}
    for person in persons:
        if key := _key(person.name):
            role = found[key].role if key in found and found[key].role else _tag(person.role)
            found[key] = Person(
                id=key, name=found[key].name if key in found else label(person.name), role=role
            )
    return tuple(found.values())


def _tags(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for text in texts if (tag := _tag(text))))


def _tag(text: str) -> str:
    return label(text) if _key(text) else ""


def _key(text: str) -> str:
    try:
        return labels.key(text)
    except LabelError:
        return ""
