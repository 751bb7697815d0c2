"""Answers to questions from what was shown in a reading, written by a model and checked without one
(seed 3, "Answer Synthesis").

Generators yield calls and are sent their results, so that a caller can report what happens
meanwhile.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import cache
from typing import Annotated, Any, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ...errors import BudgetError, CutOffError, ModelError, ReplyError
from ...llm import Call, Quote
from ...llm.prompts import Slot, hint
from ...text.analysis import STOP_WORDS, WORD, term_set, terms_of_word, words
from ..check.citations import (
    DOUBTFUL,
    CitationChecker,
    Draft,
    describe_lines,
    without_citations,
)
from ..check.evidence import Coverage, PackedEvidence, ShownLines
from ..result import Sentence

EVIDENCE_TOKENS = 6_000
_AROUND = 3  # lines around what a sentence cites that it is mended with
_MOST_SPANS = 10  # that are named where there is no answer
_LONGEST_SPAN = 100  # lines; of a longer one its best lines are named
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
_MOST_NAMED = 8  # words, and documents
_MOST_LINES = 3  # that are named as those that fit best
_LEAST_SHARE = 0.5  # of the best line's weight, of a line that is named with it


# The limits are part of what the model is asked. A reply that goes beyond is taken all the same,
# and so is one that leaves something out; but it is asked for all: a small model that is held to a
# schema writes no more than it must.
class DraftAnswer(Struct, frozen=True, kw_only=True):
    """An answer as a model wrote it."""

    sentences: Annotated[list[Draft], hint(maxItems=8)] = []
    missing: Annotated[str, hint(maxLength=200)] = ""
    # last: a small model that has to say it first says no before it has looked
    found: bool
    list_all: bool = False


RequestedAnswer = Annotated[DraftAnswer, hint(required=list(DraftAnswer.__struct_fields__))]


class Mended(Draft, frozen=True, kw_only=True):
    """A sentence that did not hold, rewritten."""

    number: int


class MendedAnswer(Struct, frozen=True, kw_only=True):
    """The sentences of an answer that did not hold, rewritten; one that is not there is out."""

    sentences: Annotated[list[Mended], hint(maxItems=8)] = []


class WrittenAnswer(Struct, frozen=True, kw_only=True):
    """An answer after it was checked."""

    text: str  # never empty: without an answer it says what was searched
    sentences: tuple[Sentence, ...] = ()
    found: bool = False
    doubts: tuple[str, ...] = ()
    list_all: bool = False  # the model says that the question is for a list from every part


def write_answer(
    question: str,
    evidence: ShownLines,
    *,
    tokens: int = EVIDENCE_TOKENS,
    notes: str = "",
    searched: Iterable[str] = (),
    subjects: Sequence[str] = (),
) -> Asking[WrittenAnswer]:
    """Have a model answer from what was shown, and check every sentence.

    Sentences that do not hold are sent back once; what still does not hold stays, with its doubt.
    Without an answer, the text says what was searched.

    Args:
        tokens: of the lines that the model is shown; the most valuable go first.
        notes: what was noted in the reading.
        searched: words that were searched for, besides those of the question.
        subjects: ids of the records that the lines are from.

    Raises:
        ModelError: the model does not answer, or will not. After a reply that is not what was asked
            for, or if a budget is used up, the places that fit best are named.
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
            describe_lines(one.document, one.first, one.last, named=named)
            for one in sentence.citations
            if one.found != "unfounded"
        ]
        if sentence.doubt:
            citations.append(DOUBTFUL)
        parts.append(" ".join([sentence.text, *citations]))
    return "\n".join(parts) if any(part.startswith(_BULLETS) for part in parts) else " ".join(parts)


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
    evidence: ShownLines,
    tokens: int,
) -> PackedEvidence:
    """The lines around what did not hold, then those that the model was shown before."""
    again = ShownLines(evidence.documents)
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


def _without_model(error: ModelError, question: str, evidence: ShownLines) -> WrittenAnswer:
    """Name the places that fit best, when the model's reply is of no use."""
    if not isinstance(error, BudgetError | ReplyError | CutOffError):
        raise error
    named = len(evidence.documents) > 1
    best = evidence.best(_MOST_SPANS)
    if any(last - first >= _LONGEST_SPAN for _, first, last in best):
        # those of whole documents, whatever was read of them
        best = _best_matching(_find_matching(_content_words(question), evidence)) or best
    spans = [describe_lines(*span, named=named) for span in best]
    return WrittenAnswer(
        text=f"No answer was written. What fits the question best: {', '.join(spans)}.",
        doubts=(f"the model wrote no answer: {error.message}",),
    )


def _packing_doubts(packed: PackedEvidence) -> Iterator[str]:
    if packed.left_out:
        yield f"{packed.left_out:,} lines that were read did not fit beside the question"
    if packed.cut:
        yield f"{packed.cut:,} lines are so long that the model was shown their beginning only"


class _MatchingLine(Struct, frozen=True, gc=False):
    document: str
    line: int
    terms: frozenset[str]


def describe_absence(question: str, evidence: ShownLines, searched: Iterable[str] = ()) -> str:
    """Say that there is no answer: what was searched, which lines fit best, how much was read."""
    terms = _content_words(" ".join((question, *searched)))
    matching = _find_matching(terms, evidence)
    parts = ["What was read does not answer this."]
    if named := terms[:_MOST_NAMED]:
        looked_for = term_set(" ".join(named))
        count = sum(not looked_for.isdisjoint(one.terms) for one in matching)
        total = sum(len(lines.texts) for lines in evidence.documents.values())
        listed = ", ".join(f"“{word}”" for word in named)
        parts.append(f"Searched for {listed}: {count:,} of {total:,} lines have one of them.")
    if best := _best_matching(matching):
        several = len(evidence.documents) > 1
        places = ", ".join(describe_lines(*span, named=several) for span in best)
        parts.append(f"What fits the question best: {places}.")
    shares = evidence.shares()
    if shares:
        most_read = sorted(shares.items(), key=lambda item: -item[1])
        read = [f"{share:.0%} of {name}" for name, share in most_read[:_MOST_NAMED]]
        if more := len(shares) - len(read):
            read.append(f"less of {more:,} more documents")
        parts.append(f"Read: {', '.join(read)}.")
    return " ".join(parts)


def _best_matching(matching: Sequence[_MatchingLine]) -> list[tuple[str, int, int]]:
    """The lines with most of the words, rare ones above all: document, first and last."""
    counts = Counter(term for one in matching for term in one.terms)
    weights = {term: 1 / math.log2(1 + count) for term, count in counts.items()}
    scored = [(sum(weights[term] for term in one.terms), one) for one in matching]
    scored.sort(key=lambda pair: -pair[0])
    return [
        (one.document, one.line, one.line)
        for score, one in scored[:_MOST_LINES]
        if score >= _LEAST_SHARE * scored[0][0]
    ]


def _content_words(text: str) -> list[str]:
    words = WORD.findall(text.casefold())
    return list(dict.fromkeys(word for word in words if word not in STOP_WORDS))


def _find_matching(looked_for: Iterable[str], evidence: ShownLines) -> list[_MatchingLine]:
    """List the lines of the documents with a form of one of these words."""
    terms = term_set(" ".join(looked_for))

    @cache
    def matching(word: str | bytes) -> set[str]:
        return terms.intersection(terms_of_word(word))

    matches = []
    others: set[str | bytes] = set()  # words that are no form of one: of most lines, all
    for name, lines in evidence.documents.items():
        for number, text in enumerate(lines.texts, 1):
            if unknown := set(words(text)) - others:
                if found := set[str]().union(*map(matching, unknown)):
                    matches.append(_MatchingLine(name, number, frozenset(found)))
                others.update(word for word in unknown if not matching(word))
    return matches
