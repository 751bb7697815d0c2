"""The tools `recall` and `ask`: what answers a question, and an answer in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import replace

from ...memory.memory import Memory
from ...model import Episode, Reason, Recall, RecallHit, Resource
from ...predicates import LONGEST_QUESTION
from ...retrieve.prompt_context import episode_line
from ...text.quoting import cleaned, one_line, quoted
from ..bounds import LONGEST_STATEMENT, LONGEST_TEXT, NO_NUL, Limit, Text, Time, parse_time
from ..operation import Hints, Progress, tool
from .passage import QUOTED, Passage, quote, quote_all

_REASONS = 3  # of a hit that are told

# in a union with objects: see `without_pattern`
Turn: TypeAlias = Annotated[str, Meta(max_length=LONGEST_TEXT)]


class RecallTakes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `recall`."""

    question: Annotated[str, Meta(max_length=LONGEST_QUESTION, pattern=NO_NUL)]
    budget_tokens: Annotated[int, Meta(ge=1, le=200_000)] = 2000
    limit: Limit = 10
    history: Annotated[
        list[Turn | dict[str, Text]],
        Meta(max_length=50),
    ] = []
    now: Time = ""
    where: Annotated[
        str,
        Meta(max_length=LONGEST_STATEMENT, pattern=NO_NUL, description="category = 'note'"),
    ] = ""
    explain: bool = False
    unit: Literal["record", "episode"] = "record"
    stale: Literal["mark", "omit", "only"] = "mark"
    as_of: Annotated[Time, Meta(description="what was known then")] = ""


class Recalled(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was recalled, and what it went without; if nothing answers, that it abstained, and the
    reason."""

    hits: list[Passage]
    episodes: list[dict[str, Any]] = []
    abstained: bool
    reason: str = ""
    window: list[str] = []
    tokens: int = 0
    explained: dict[str, Any] = {}


def _recall(memory: Memory, values: RecallTakes, progress: Progress | None) -> Recalled:
    """Recall what is remembered that answers a question, best first, with source, trust and why.
    Ask before answering about the user, their people, projects or past. Unit
    episode: chats that decide. What may not hold any more comes last, with what changed: replace,
    confirm or refresh it.
    """
    found = memory.recall(
        values.question,
        limit=values.limit,
        budget_tokens=values.budget_tokens,
        history=values.history,
        now=parse_time(values.now, "now"),
        where=values.where or None,
        explain=values.explain,
        unit=values.unit,
        stale=values.stale,
        as_of=parse_time(values.as_of, "as_of"),
    )
    return Recalled(
        hits=_passages(found),
        episodes=[_told(episode) for episode in found.episodes],
        abstained=found.abstained,
        reason="; ".join(_notes(found)),
        window=[at.isoformat() for at in found.window] if found.window else [],
        tokens=found.tokens,
        explained=found.explained,
    )


def _notes(found: Recall) -> Iterator[str]:
    if found.reason:
        yield found.reason
    if found.as_of is not None:
        at = found.as_of.isoformat()
        yield f"as it stood at {at}; what was read again or forgotten since is not kept"
    if found.note:
        yield found.note


def _passages(found: Recall) -> list[Passage]:
    """Make the passages of a recall; a text beside several hits is shown beside the first."""
    shown = {hit.record.id for hit in found.hits}
    return [
        Passage.of_hit(
            hit,
            before=_join(hit.before, shown),
            after=_join(hit.after, shown),
            why=[_why(reason) for reason in hit.reasons[:_REASONS]],
            changed=_changed(hit, shown),
        )
        for hit in found.hits
    ]


def _changed(hit: RecallHit, shown: set[str]) -> Passage | None:
    if hit.changed is None or hit.changed.id in shown:
        return None
    shown.add(hit.changed.id)
    return Passage.of(hit.changed)


def _join(records: tuple[Resource, ...], shown: set[str]) -> str:
    new = [record for record in records if record.id not in shown]
    shown.update(record.id for record in new)
    return "\n".join(Passage.of(record).text for record in new)


def _why(reason: Reason) -> str:
    note = f": {one_line(reason.note)}" if reason.note else ""
    return f"{reason.part} {reason.share:.2f}{note}"


def _text(value: Recalled) -> str:
    if not value.hits:
        return f"Nothing remembered answers this ({one_line(value.reason, 0)})."
    told = f"({one_line(value.reason, 0)})\n" if value.reason else ""
    hits = value.hits
    if value.explained:
        hits = [replace(hit, facts={**hit.facts, "why": hit.why}) for hit in hits]
    shown = _episodes_text(value.episodes, hits) if value.episodes else quote_all(hits)
    return told + shown + (_explained(value.explained) if value.explained else "")


def _episodes_text(episodes: list[dict[str, Any]], hits: list[Passage]) -> str:
    numbers = {passage.id: number for number, passage in enumerate(hits, 1)}
    given = {episode["id"] for episode in episodes}
    lines = [QUOTED]
    for episode in episodes:
        amends = episode.get("amends") in given
        lines.append(episode_line(episode["name"], amends, episode.get("amends_at", "")))
        of_episode = [numbers[id] for id in episode["hits"]]
        lines += [quote(number, hits[number - 1]) for number in of_episode]
    return "".join(lines)


def _explained(explained: dict[str, Any]) -> str:
    """Say how much each part of the search found, and which names it looked for."""
    found = ", ".join(f"{part} {count}" for part, count in explained.get("found", {}).items())
    names = ", ".join(quoted(name["name"]) for name in explained.get("names", ()))
    return f"Found by: {found}" + (f"; names asked for: {names}" if names else "")


def _told(episode: Episode) -> dict[str, Any]:
    """An episode as JSON; its hits by their ids, and no reasons."""
    shown = episode.as_dict()
    del shown["reasons"]
    return shown


RECALL = tool(
    _recall,
    text=_text,
    aliases={"query": "question", "q": "question", "top_k": "limit", "k": "limit"},
)


class AskTakes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `ask`."""

    question: Annotated[str, Meta(max_length=LONGEST_QUESTION, pattern=NO_NUL)]
    turns: Annotated[int, Meta(ge=1, le=20)] = 5
    budget_tokens: Annotated[int, Meta(ge=1, le=200_000)] = 20_000


class Asked(Struct, frozen=True, kw_only=True):
    """An answer with its citations; an empty one is none, and `doubts` say why."""

    answer: str
    citations: list[dict[str, Any]]
    connections: list[str]
    doubts: list[str]
    statements: list[str]
    tokens: int


def _ask(memory: Memory, values: AskTakes, progress: Progress | None) -> Asked:
    """Ask in plain words: a language model looks through the memory in statements, answers and
    cites. Slow; recall first.
    """
    found = memory.ask(
        values.question,
        turns=values.turns,
        budget_tokens=values.budget_tokens,
        on_turn=progress,
    )
    return Asked(
        answer=found.answer,
        citations=[
            {"number": one.number, "name": one.name, "source": one.source, "id": one.id}
            for one in found.citations
        ],
        connections=list(found.connections),
        doubts=list(found.doubts),
        statements=[turn.statement for turn in found.turns],
        tokens=found.tokens,
    )


def _ask_text(value: Asked) -> str:
    lines = [cleaned(value.answer) or "There is no answer."]
    lines += [f"> {one_line(sentence, 0)}" for sentence in value.connections]
    lines += [f"[{one['number']}] {quoted(one['source'])}" for one in value.citations]
    lines += [f"doubt: {one_line(doubt, 0)}" for doubt in value.doubts]
    return "\n".join(lines)


ASK = tool(
    _ask,
    text=_ask_text,
    hints=Hints(read_only=True),
    is_long=True,
    aliases={"query": "question", "q": "question"},
)
