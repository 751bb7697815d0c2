"""Questions, and the documents of which some hold the evidence.

Two forms are read. LoCoMo's: see `locomo`; each turn is a document. The open harness's
(agent-memory-benchmark): an object with `documents` and `queries`, or a folder with a file of each,
`.json` or `.jsonl`; a document as `BenchDocument`, a query with `query`, `gold_ids`,
`gold_answers`, `user_id` and `meta`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ..errors import InvalidInputError, UnknownNameError
from . import locomo

SAMPLE = Path(__file__).with_name("studio.json")
_KINDS: dict[int | str, str] = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
_ADVERSARIAL = 5
_PARTS, _LOCOMO = ("documents", "queries"), ("sample_id", "conversation", "qa")
_NAMED = 8  # keys or files, in a message
_FORMS = "give LoCoMo's JSON, or an object with documents and queries: see docs/bench.md"


class BenchDocument(Struct, kw_only=True):
    """What a memory is given; the names are those of the open harness.

    Attributes:
        user_id: whose it is. A memory is asked of one user's documents at a time.
        messages: the turns in it, `{"role", "content", "name"?}`, if it is of a chat.
        timestamp: when it was written, ISO 8601.
        context: where it is from, in words.
    """

    id: str
    content: str
    user_id: str | None = None
    messages: list[dict[str, Any]] | None = None
    timestamp: str | None = None
    context: str | None = None


class BenchQuestion(Struct, kw_only=True):
    """A question of one user, and the ids of the documents that hold the evidence; none: it has no
    answer."""

    text: str
    gold: frozenset[str]
    user_id: str
    kind: str = ""
    asked_at: str | None = None


class Dataset(Struct, kw_only=True):
    """Documents by user, and questions about them.

    Attributes:
        left_out: the texts of questions whose evidence is not told by ids, or is of no document.
    """

    name: str
    documents: dict[str, list[BenchDocument]]
    questions: list[BenchQuestion]
    left_out: list[str] = []


class _Query(Struct, kw_only=True):
    query: str
    gold_ids: list[str] = []
    gold_answers: list[Any] = []
    user_id: str | None = None
    meta: dict[str, Any] = {}


def load(place: Path) -> Dataset:
    """Read a file or folder of either form.

    Raises:
        InvalidInputError: it is not there, has neither form, has no questions, tells only answers,
            or a user has two documents of one id.
        OSError: it cannot be read.
    """
    if not place.exists():
        known = [str(file) for file in sorted(place.parent.glob("*.json*"))]
        raise UnknownNameError("file or folder", str(place), known)
    whole = _whole(place)
    dataset = _of_conversations(place) if whole is None else _of_harness(place.stem, whole)
    if not any(question.gold for question in dataset.questions):
        raise InvalidInputError(
            f"{place}: no question says by ids which documents hold its evidence",
            remedy="answers alone need a language model to judge by; give `gold_ids` with them",
        )
    for user, documents in dataset.documents.items():
        if len({one.id for one in documents}) < len(documents):
            raise InvalidInputError(f"{place}: of {user or 'all'}, two documents have one id")
    return dataset


def _whole(place: Path) -> dict[str, Any] | None:
    """Give the object of the harness's form; None where it is another."""
    if place.is_dir():
        files = [next(iter(sorted(place.glob(f"{part}.json*"))), None) for part in _PARTS]
        if None in files:
            return None
        return {part: _read(file) for part, file in zip(_PARTS, files, strict=True) if file}
    read = _read(place)
    return read if isinstance(read, dict) and all(part in read for part in _PARTS) else None


def _read(file: Path) -> Any:
    try:
        decode = msgspec.json.Decoder()
        data = file.read_bytes()
        return decode.decode_lines(data) if file.suffix == ".jsonl" else decode.decode(data)
    except msgspec.DecodeError as error:
        raise InvalidInputError(f"{file} is not JSON: {error}") from error


def _of_harness(name: str, whole: dict[str, Any]) -> Dataset:
    try:
        documents = msgspec.convert(whole["documents"], list[BenchDocument])
        queries = msgspec.convert(whole["queries"], list[_Query])
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"{name}: {error}", remedy=_FORMS) from error
    by_user: dict[str, list[BenchDocument]] = {}
    for document in documents:
        by_user.setdefault(document.user_id or "", []).append(document)
    known = {user: {one.id for one in some} for user, some in by_user.items()}
    dataset = Dataset(name=name, documents=by_user, questions=[])
    for query in queries:
        user = query.user_id or ""
        gold = frozenset(query.gold_ids) & known.get(user, set())
        # one with an answer, whose evidence nobody knows
        if (query.gold_ids or query.gold_answers) and not gold:
            dataset.left_out.append(query.query)
            continue
        kind = query.meta.get("category") or query.meta.get("question_type") or ""
        at = query.meta.get("query_timestamp")
        dataset.questions.append(
            BenchQuestion(text=query.query, gold=gold, user_id=user, kind=str(kind), asked_at=at)
        )
    return dataset


def _of_conversations(place: Path) -> Dataset:
    try:
        conversations = locomo.load(place)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        lacking = f"an entry lacks {error}" if isinstance(error, KeyError) else str(error)
        raise InvalidInputError(
            f"{place} has neither form of questions: {_seen(place) or lacking}", remedy=_FORMS
        ) from error
    dataset = Dataset(name=place.stem, documents={}, questions=[])
    for one in conversations:
        # turns are numbered alike in every conversation
        dataset.documents[one.id] = [
            BenchDocument(
                id=f"{one.id}:{said.id}",
                content=f"{said.speaker}: {said.text}",
                user_id=one.id,
                messages=[{"role": "user", "name": said.speaker, "content": said.text}],
                timestamp=said.at.isoformat() if said.at else None,
            )
            for said in one.messages
        ]
        last = one.messages[-1].at if one.messages else None
        dataset.questions += _questions(one, last.isoformat() if last else None)
        dataset.left_out += [
            asked.text
            for asked in one.questions
            if not asked.gold and asked.category != _ADVERSARIAL
        ]
    return dataset


def _seen(place: Path) -> str:
    """What is there and what it lacks; nothing if it lacks no part."""
    if place.is_dir():
        files = sorted(file.name for file in place.iterdir())[:_NAMED]
        return f"a folder of {', '.join(files) or 'nothing'}; there is no {' or '.join(_PARTS)}"
    read, what = _read(place), ""
    if isinstance(read, list) and read:
        read, what = read[0], "a list that begins with "
    if not isinstance(read, dict):
        return f"{what}{read!r:.40}, which is no object"
    wanted = _LOCOMO if what or "conversation" in read else _PARTS
    missing = [name for name in wanted if name not in read]
    keys = ", ".join(list(read)[:_NAMED]) or "nothing"
    return f"{what}an object of {keys}; it lacks {', '.join(missing)}" if missing else ""


def _questions(one: locomo.LocomoChat, at: str | None) -> Iterable[BenchQuestion]:
    for asked in one.questions:
        twisted = asked.category == _ADVERSARIAL
        if twisted or asked.gold:
            yield BenchQuestion(
                text=asked.text,
                gold=frozenset() if twisted else frozenset(f"{one.id}:{id}" for id in asked.gold),
                user_id=one.id,
                kind=_KINDS.get(asked.category, str(asked.category)),
                asked_at=at,
            )
