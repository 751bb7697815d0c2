"""Moments as a model describes them: what happened in a session, with every field of seed 5."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ... import labels
from ...errors import ModelError
from ...ingest.chats import people, speakers
from ...ingest.documents import identity, label
from ...llm import LLM, Call, Quote
from ...llm.prompts import hint
from ...model import Moment, Person, Resource, Speaker
from ...model.premises import premises_of, says
from ...runs.failures import failed_item_key
from ...runs.memos import holds, memo
from ...runs.write_plan import WritePart
from ...runs.writer import Writer
from ...store.contract import Store
from ...text.sentences import count_words
from ..context import ask_each, quote_resource
from .links import MADE_BY, as_they_are, connections, current_moments, part_id, part_of, retired
from .sessions import ResourceSession, time_of

# namespace of the entries that say that a model described what happened in some resources
DESCRIBED = "told"
_RUN_KIND = "moments"
_WORDS = 1_500  # of one call
# What the model is asked for. Nothing is refused for being longer: a small model would fail often.
Name: TypeAlias = Annotated[str, hint(maxLength=60)]
Tag: TypeAlias = Annotated[str, hint(maxLength=32)]
Tags: TypeAlias = Annotated[list[Tag], hint(maxItems=4)]


class Present(Struct, frozen=True):
    name: Name
    role: Tag = ""


class Spoke(Struct, frozen=True):
    name: Name
    speaking_time: float = 0.0  # seconds


class MomentDraft(Struct, frozen=True, kw_only=True):
    """A moment as a model replies with it. Times are ISO 8601, or empty."""

    name: Name
    summary: Annotated[str, hint(maxLength=400)]
    type: Tag = ""
    starts_at: Tag = ""
    ends_at: Tag = ""
    present_persons: Annotated[list[Present], hint(maxItems=6)] = []
    speakers: Annotated[list[Spoke], hint(maxItems=6)] = []
    emotion_tags: Tags = []
    topic_tags: Tags = []
    classifications: Tags = []
    entities: Annotated[list[Name], hint(maxItems=6)] = []


MomentDrafts: TypeAlias = Annotated[list[MomentDraft], hint(maxItems=5)]


class _Piece(Struct, frozen=True):
    id: str
    resources: tuple[Resource, ...]
    within: Moment

    @property
    def span(self) -> tuple[datetime, datetime]:
        return time_of(self.resources)

    @property
    def resource_ids(self) -> tuple[str, ...]:
        return tuple(resource.id for resource in self.resources)

    @property
    def premises(self) -> dict[str, str]:
        return premises_of(self.resources)


def describe_sessions(
    store: Store,
    writer: Writer,
    llm: LLM,
    sessions: Sequence[tuple[ResourceSession, Moment]],
) -> None:
    """Ask the model what happened in sessions, each with its moment, and write the moments of it.

    What was described before is not asked about again.

    Raises:
        BudgetError: the run's budget is spent; what was described is written, and the rest waits
            for the next run.
    """
    pieces = [piece for session, whole in sessions for piece in _pieces(store, session, whole)]
    waiting = {
        one.id: one for one in pieces if not holds(store.kv.get(DESCRIBED, one.id), one.premises)
    }
    calls = {id: _call(piece) for id, piece in waiting.items()}
    rests_on = {id: piece.resource_ids for id, piece in waiting.items()}
    for id, reply in ask_each(store, writer, llm, calls, rests_on):
        _write(store, writer, llm.name, waiting[id], reply)


def _pieces(store: Store, session: ResourceSession, whole: Moment) -> Iterator[_Piece]:
    """A session in pieces that fit one call each, cut where its topics shift."""
    if not session.parts:
        yield from _sized_pieces(session.resources, whole)
        return
    for first, last in session.parts:
        resources = session.resources[first:last]
        part = store.records.get("moments", part_id(resources))
        yield from _sized_pieces(resources, part if isinstance(part, Moment) else whole)


def _sized_pieces(resources: Sequence[Resource], within: Moment) -> Iterator[_Piece]:
    group: list[Resource] = []
    words = 0
    for resource in resources:
        size = count_words(resource.content)
        if group and words + size > _WORDS:
            yield _piece(group, within)
            group, words = [], 0
        group.append(resource)
        words += size
    if group:
        yield _piece(group, within)


def _piece(resources: Sequence[Resource], within: Moment) -> _Piece:
    id = identity("told", *(resource.id for resource in resources))
    return _Piece(id, tuple(resources), within)


def _call(piece: _Piece) -> Call:
    names = [person.name for person in people(piece.resources)]
    return Call(
        "moment",
        {
            "session": [_quote_turn(resource) for resource in piece.resources],
            "people": ", ".join(names) or "nobody known",
            "starts": piece.span[0].isoformat(),
            "ends": piece.span[1].isoformat(),
        },
        returns=MomentDrafts,
        subjects=piece.resource_ids,
    )


def _quote_turn(resource: Resource) -> Quote:
    """A resource with its speaker and time."""
    speaker = resource.speaker
    text = f"{speaker}: {resource.content}" if speaker else resource.content
    when = resource.starts_at.isoformat() if resource.starts_at else ""
    quoted: Quote = replace(quote_resource(resource), text=text, note=when)
    return quoted


def describe_again(
    store: Store,
    writer: Writer,
    llm: LLM,
    former: Sequence[Moment],
    resources: tuple[Resource, ...],
) -> list[Moment]:
    """Ask the model again what happened in these resources, of which it made `former` moments;
    returns what it makes now. Raises ModelError: the call failed."""
    whole = store.records.get("moments", former[0].parent_moment)
    piece = _piece(resources, whole if isinstance(whole, Moment) else former[0])
    (reply,) = llm.ask_all([_call(piece)])
    writer.count_calls([reply])
    if isinstance(reply, ModelError):
        raise reply
    return _write(store, writer, llm.name, piece, reply, former)


def _write(
    store: Store,
    writer: Writer,
    model: str,
    piece: _Piece,
    drafts: Sequence[MomentDraft],
    outdated: Sequence[Moment] = (),
) -> list[Moment]:
    """Write the moments of a piece, and that it was described: it may be that nothing happened.
    Those of before, and `outdated` ones, are retired."""
    by_id = {one.id: one for one in current_moments(store, piece.resources, by_model=True)}
    for one in outdated:
        by_id.pop(one.id, None)
    former = [*by_id.values(), *as_they_are(store, outdated)]
    moments = []
    names: set[str] = set()
    for number, draft in enumerate(drafts):
        key = labels.try_key(draft.name)
        # small models repeat themselves
        if key and key not in names:
            names.add(key)
            moments.append(_moment(store, former, model, piece, number, draft))
    edges = [edge for moment in moments for edge in connections(moment, piece.resources)]
    edges += [part_of(moment, piece.within) for moment in moments]
    ids = [moment.id for moment in moments]
    described = memo(
        DESCRIBED, piece.id, piece.premises, piece.resource_ids, model=model, moments=ids
    )
    outgrown = [retired(moment) for moment in former if moment.id not in ids]
    part = WritePart(
        (*piece.resource_ids, piece.within.id),
        (*moments, *outgrown),
        tuple(edges),
        (described,),
        (failed_item_key(_RUN_KIND, piece.id),),
        counts={"told": len(moments), "nothing": int(not moments)},
    )
    writer.write_each([part])
    return moments


def _moment(
    store: Store,
    former: Sequence[Moment],
    model: str,
    piece: _Piece,
    number: int,
    draft: MomentDraft,
) -> Moment:
    """A moment; under the id of one of before that says the same."""
    starts_at, ends_at = _times(piece, draft)
    described = [Person(name=person.name, role=person.role) for person in draft.present_persons]
    persons = _unique_persons([*people(piece.resources), *described])
    names = [*(person.name for person in persons), *_tags(draft.entities)]
    moment = Moment(
        id=identity(piece.id, str(number)),
        name=_name(store, piece, draft.name, {one.id for one in former}),
        type=_tag(draft.type) or "conversation",
        starts_at=starts_at,
        ends_at=ends_at,
        present_persons=persons,
        speakers=_speakers(piece, draft),
        emotion_tags=_tags(draft.emotion_tags),
        topic_tags=_tags(draft.topic_tags),
        classifications=_tags(draft.classifications),
        summary=draft.summary.strip(),
        resource_refs=piece.resource_ids,
        entity_refs=tuple(dict.fromkeys(names)),
        parent_moment=piece.within.id,
        metadata={MADE_BY: model},
        premises=piece.premises,
    )
    same = (one.id for one in former if says(one) == says(moment))
    is_stored = store.records.get("moments", moment.id) is not None
    own = identity(moment.id, *piece.premises.values()) if is_stored else moment.id
    return replace(moment, id=next(same, own))


def _name(store: Store, piece: _Piece, name: str, former: Collection[str]) -> str:
    """The name, with its day where another moment has it already."""
    shown = label(name)
    key = labels.key(shown)
    namesakes = store.records.lookup([key], edges=0)[key]
    taken = any(isinstance(one, Moment) and one.id not in former for one in namesakes)
    day = piece.span[0].date().isoformat()
    return label(f"{shown}, {day}") if taken else shown


def _speakers(piece: _Piece, draft: MomentDraft) -> tuple[Speaker, ...]:
    known = speakers(piece.resources)
    keys = {labels.key(speaker.name) for speaker in known}
    others = [spoke for spoke in draft.speakers if labels.try_key(spoke.name) not in (*keys, "")]
    added = [Speaker(name=spoke.name, speaking_time=spoke.speaking_time) for spoke in others]
    return (*known, *added)


def _times(piece: _Piece, draft: MomentDraft) -> tuple[datetime, datetime]:
    starts_at, ends_at = _parse_time(draft.starts_at), _parse_time(draft.ends_at)
    if starts_at is None and ends_at is None:
        return piece.span
    begins = piece.span[0]
    starts_at = starts_at or min(begins, ends_at or begins)
    # an end before the beginning is a mistake of the model's
    return starts_at, ends_at if ends_at and ends_at >= starts_at else starts_at


def _parse_time(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text.strip())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _unique_persons(persons: Sequence[Person]) -> tuple[Person, ...]:
    by_key: dict[str, Person] = {}
    for person in persons:
        key = labels.try_key(person.name)
        if not key:
            continue
        known = by_key.get(key)
        name = known.name if known else label(person.name)
        role = known.role if known and known.role else _tag(person.role)
        by_key[key] = Person(id=key, name=name, role=role)
    return tuple(by_key.values())


def _tags(texts: Sequence[str]) -> tuple[str, ...]:
    tags = dict.fromkeys(map(_tag, texts))
    return tuple(tag for tag in tags if tag)


def _tag(text: str) -> str:
    return label(text) if labels.try_key(text) else ""
