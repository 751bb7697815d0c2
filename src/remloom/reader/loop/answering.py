"""Answers to questions from what was shown in a reading: written by a model, checked without one.

Source: seed 3, "Answer Synthesis". What to ask the model for is given by generators: they yield
calls and are sent their results, so that a caller can report what happens meanwhile.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Annotated, Any, TypeAlias, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from ...errors import BudgetError, CutOffError, ModelError, ReplyError
from ...llm import Call, Quote
from ...llm.prompts import Slot
from ..check.absence import describe_absence, matching_lines
from ..check.citations import (
    DOUBTFUL,
    CitationChecker,
    Draft,
    cite,
    describe_lines,
    without_citations,
)
from ..check.evidence import Evidence, PackedEvidence
from ..find.coverage import Coverage
from ..result import Sentence

EVIDENCE_TOKENS = 6_000
_AROUND = 3  # lines around what a sentence cites that it is mended with
_MOST_PLACES = 10  # that are named where there is no answer
_LONGEST_PLACE = 100  # lines; of a longer one its best lines are named
_BULLETS = ("- ", "* ", "• ")
_ANSWER = "Answer the question."
_MEND = (
    "Some sentences of your answer do not hold. Here they are, each with its number and with what "
    "is wrong. Write only these anew, with their numbers; leave out those that the lines do not "
    "say."
)

_T = TypeVar("_T")
# yields calls to be made at once, is sent their results, and returns what comes of it; in place of
# a result that failed stands its error
Asking: TypeAlias = Generator[Sequence[Call], list[Any], _T]


# The limits are part of what the model is asked. A reply that goes beyond is taken all the same,
# and so is one that leaves something out; but it is asked for all: a small model that is held to a
# schema writes no more than it must.
class DraftAnswer(Struct, frozen=True, kw_only=True):
    """An answer as a model wrote it."""

    sentences: Annotated[list[Draft], Meta(extra_json_schema={"maxItems": 8})] = []
    missing: Annotated[str, Meta(extra_json_schema={"maxLength": 200})] = ""
    # last: a small model that has to say it first says no before it has looked
    found: bool
    list_all: bool = False


RequestedAnswer = Annotated[
    DraftAnswer, Meta(extra_json_schema={"required": list(DraftAnswer.__struct_fields__)})
]


class Mended(Draft, frozen=True, kw_only=True):
    """A sentence that did not hold, rewritten."""

    number: int


class MendedAnswer(Struct, frozen=True, kw_only=True):
    """The sentences of an answer that did not hold, rewritten; one that is not there is out."""

    sentences: Annotated[list[Mended], Meta(extra_json_schema={"maxItems": 8})] = []


class WrittenAnswer(Struct, frozen=True, kw_only=True):
    """An answer after it was checked."""

    text: str  # never empty: without an answer it says what was searched
    sentences: tuple[Sentence, ...] = ()
    found: bool = False
    doubts: tuple[str, ...] = ()
    list_all: bool = False  # the model says that the question is for a list from every part


def write_answer(
    question: str,
    evidence: Evidence,
    *,
    tokens: int = EVIDENCE_TOKENS,
    notes: str = "",
    searched: Iterable[str] = (),
    subjects: Sequence[str] = (),
) -> Asking[WrittenAnswer]:
    """Have a model answer from what was shown, and check every sentence.

    Sentences that do not hold are sent back once; what still does not hold stays, with its doubt.
    Where there is no answer, the text says what was searched.

    Args:
        tokens: of the lines that the model is shown; the most valuable go first.
        notes: what was noted in the reading.
        searched: words that were searched for, beside those of the question.
        subjects: ids of the records that the lines are from.

    Raises:
        ModelError: the model does not answer, or will not. A reply that is not what was asked for,
            or a budget that is used up, is no error: the places that fit best are named then.
    """
    packed = evidence.pack(tokens)
    slots: dict[str, Slot] = {
        "question": question,
        "lines": packed.quotes,
        "notes": Quote(notes, trust="derived") if notes.strip() else (),
        "task": _ANSWER,
        "checked": (),
    }
    about = tuple(subjects)
    (reply,) = yield [Call("read_answer", slots, RequestedAnswer, about)]
    if isinstance(reply, ModelError):
        return _without_model(reply, question, evidence)
    drafts = [draft for draft in reply.sentences if without_citations(draft.text)]
    checker = CitationChecker(evidence)
    sentences = [checker.check(draft) for draft in drafts]
    doubts = [*_packing_doubts(packed)]
    if any(sentence.doubt for sentence in sentences):
        slots["lines"] = _pack_again(drafts, sentences, packed, evidence, tokens).quotes
        slots["task"] = _MEND
        slots["checked"] = [*_describe_failed(drafts, sentences)]
        (mended,) = yield [Call("read_answer", slots, MendedAnswer, about)]
        if isinstance(mended, ModelError):
            doubts.append(f"what does not hold was not mended: {mended.message}")
        else:
            sentences, left_out = _replace_failed(sentences, mended, checker)
            doubts += left_out
    written = _finish(reply, sentences, doubts, named=len(evidence.documents) > 1)
    if written.found:
        return written
    absence = describe_absence(question, evidence, searched)
    return replace(written, text=" ".join(filter(None, (absence, written.text))))


def render(sentences: Iterable[Sentence], *, named: bool) -> str:
    """Write sentences with what they cite; what has a doubt is marked."""
    parts = []
    for sentence in sentences:
        citations = [
            cite(one, named=named) for one in sentence.citations if one.found != "unfounded"
        ]
        if sentence.doubt:
            citations = [*citations, DOUBTFUL]
        parts.append(" ".join([sentence.text, *citations]))
    return "\n".join(parts) if any(part.startswith(_BULLETS) for part in parts) else " ".join(parts)


# -- mending ---------------------------------------------------------------------------------------


def _describe_failed(drafts: Sequence[Draft], sentences: Sequence[Sentence]) -> Iterator[Quote]:
    for number, (draft, sentence) in enumerate(zip(drafts, sentences, strict=True), 1):
        if sentence.doubt:
            lines = f"lines {draft.first_line}-{draft.last_line}"
            yield Quote(
                f"number: {number}\ntext: {draft.text}\nquote: {draft.quote}\n{lines}\n"
                f"what is wrong: {sentence.doubt}",
                trust="derived",
            )


def _replace_failed(
    sentences: Sequence[Sentence], mended: MendedAnswer, checker: CitationChecker
) -> tuple[list[Sentence], list[str]]:
    """The sentences with those that did not hold replaced, and notes of those left out."""
    instead = {draft.number: draft for draft in mended.sentences if without_citations(draft.text)}
    replaced = []
    left_out = []
    for number, sentence in enumerate(sentences, 1):
        if not sentence.doubt:
            replaced.append(sentence)
        elif draft := instead.get(number):
            replaced.append(checker.check(draft))
        else:
            left_out.append(f"left out: {sentence.text!r}, as {sentence.doubt}")
    return replaced, left_out


def _pack_again(
    drafts: Sequence[Draft],
    sentences: Sequence[Sentence],
    packed: PackedEvidence,
    evidence: Evidence,
    tokens: int,
) -> PackedEvidence:
    """The lines around what did not hold, then those that the model was shown before."""
    again = Evidence(evidence.documents)
    names = list(evidence.documents)
    for draft, sentence in zip(drafts, sentences, strict=True):
        name = draft.document if draft.document in evidence.documents else names[0]
        if sentence.doubt:
            shown = Coverage(packed.coverage.get(name, ()))
            first, last = draft.first_line - _AROUND, draft.last_line + _AROUND
            for begin, end in shown:
                again.add(name, max(begin, first), min(end, last), value=1.0)
    for name, coverage in packed.coverage.items():
        for first, last in coverage:
            again.add(name, first, last)
    return again.pack(tokens // 2)


# -- what comes of it ------------------------------------------------------------------------------


def _finish(
    reply: DraftAnswer,
    sentences: Sequence[Sentence],
    doubts: Sequence[str],
    *,
    named: bool,
) -> WrittenAnswer:
    all_doubts = [f"{one.text!r}: {one.doubt}" for one in sentences if one.doubt]
    all_doubts += doubts
    holds = any(one.found != "unfounded" for each in sentences for one in each.citations)
    found = reply.found and holds
    if reply.found and not holds:
        all_doubts.append("nothing that the model answered was found in the lines")
    parts = [render(sentences, named=named)]
    if found and (missing := without_citations(reply.missing)):
        parts.append(f"Not in what was read: {missing}")
        all_doubts.append(f"a part of the question was not answered: {missing}")
    return WrittenAnswer(
        text=" ".join(filter(None, parts)),
        sentences=tuple(sentences),
        found=found,
        doubts=tuple(all_doubts),
        list_all=reply.list_all,
    )


def _without_model(error: ModelError, question: str, evidence: Evidence) -> WrittenAnswer:
    """Name the places that fit best, when the model's reply is of no use."""
    if not isinstance(error, BudgetError | ReplyError | CutOffError):
        raise error
    named = len(evidence.documents) > 1
    best = evidence.best(_MOST_PLACES)
    if any(last - first >= _LONGEST_PLACE for _, first, last in best):
        best = matching_lines(question, evidence) or best
    places = [describe_lines(*span, named=named) for span in best]
    return WrittenAnswer(
        text=f"No answer was written. What fits the question best: {', '.join(places)}.",
        doubts=(f"the model wrote no answer: {error.message}",),
    )


def _packing_doubts(packed: PackedEvidence) -> Iterator[str]:
    if packed.left_out:
        yield f"{packed.left_out:,} lines that were read did not fit beside the question"
    if packed.cut:
        yield f"{packed.cut:,} lines are so long that the model was shown their beginning only"
