"""A question for all of something, asked of every part of the documents, and listed.

How many items are in the list is said of the list: it answers no question for a number that the
text may state. Source: Zhang, Kraska and Khattab, arXiv 2512.24601; Bertsch et al., OOLONG.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from ...errors import BudgetError, CutOffError, FullReplyError, ModelError
from ...llm import Call
from ...llm.prompts import Slot, hint
from ...text.analysis import term_set, terms
from ...text.sentences import approximate_token_ends
from ..check.citations import CitationChecker, Draft
from ..check.evidence import ShownLines
from ..check.quotes import IGNORABLE, plain_words
from ..lines.lines import Lines, chunk_ids
from ..result import Sentence
from .answering import Asking, WrittenAnswer, describe_absence, render

PART_TOKENS = 2_000  # of the lines of a part
_MOST_PARTS = 200
_MOST_NAMED = 3  # of those that could not be read


class Item(Struct, frozen=True, kw_only=True):
    """Something that was asked for, as a model found it in a part."""

    item: Annotated[str, hint(maxLength=160)]
    first_line: int
    last_line: int
    quote: Annotated[str, hint(maxLength=240)]


class DocumentPart(Struct, frozen=True):
    """Consecutive lines of a document that are read together."""

    document: str
    first: int
    last: int


def rank_parts(
    question: str, documents: Mapping[str, Lines], tokens: int = PART_TOKENS
) -> list[DocumentPart]:
    """Cut documents at their sections into parts of so many tokens; those that match come first."""
    parts = [
        DocumentPart(name, first, last)
        for name, lines in documents.items()
        for first, last in _cut(lines, tokens)
    ]
    question_terms = term_set(question)
    found = [
        question_terms.intersection(terms(documents[part.document].text(part.first, part.last)))
        for part in parts
    ]
    occurrences = Counter(term for one in found for term in one)
    weights = {term: math.log(1 + len(parts) / count) for term, count in occurrences.items()}
    scores = [sum(weights[term] for term in one) for one in found]
    order = sorted(range(len(parts)), key=lambda at: -scores[at])
    return [parts[at] for at in order]


def list_parts(question: str, evidence: ShownLines, *, tokens: int) -> Asking[WrittenAnswer]:
    """Have a model look through the documents part by part, and list what it finds.

    Every item is checked, and is there once, with all the places that name it. What was not read,
    for the budget or an error, is a doubt.

    Args:
        tokens: of all calls, in and out; as many parts are read as they allow.

    Raises:
        ModelError: the model did not answer for any part.
    """
    parts = rank_parts(question, evidence.documents)
    # the budget itself refuses those that do not fit any more
    most = max(1, tokens // PART_TOKENS)
    chosen = parts[: min(most, _MOST_PARTS)]
    unread = [part for part in parts if part not in chosen]
    problems: list[tuple[DocumentPart, ModelError]] = []
    drafts: list[Draft] = []
    calls = 0
    while chosen:
        results = yield [_call(question, part, evidence) for part in chosen]
        again: list[DocumentPart] = []
        for part, result in zip(chosen, results, strict=True):
            halves = _halves(part) if isinstance(result, FullReplyError | CutOffError) else ()
            again += halves
            if halves:
                continue
            calls += 1
            items = result
            if isinstance(result, ModelError):
                unread.append(part)
                problems.append((part, result))
                items = getattr(result, "items", ())
                if not items:
                    continue
            evidence.add(part.document, part.first, part.last)
            drafts += [_draft(item, part) for item in items if item.item.strip()]
        chosen = again
    others = [error for _, error in problems if not isinstance(error, BudgetError)]
    if others and len(problems) == calls and not drafts:
        raise others[0]
    checker = CitationChecker(evidence)
    order = {name: number for number, name in enumerate(evidence.documents)}
    drafts.sort(key=lambda draft: (order[draft.document], draft.first_line))
    items = _merge([checker.check(draft) for draft in drafts])
    doubts = [f"{one.text!r}: {one.doubt}" for one in items if one.doubt]
    doubts += _unread_doubts(unread, problems, evidence)
    return _add_up(items, doubts, question, evidence, is_whole=not unread)


def _call(question: str, part: DocumentPart, evidence: ShownLines) -> Call:
    own = ShownLines(evidence.documents)
    own.add(part.document, part.first, part.last)
    slots: dict[str, Slot] = {
        "question": question,
        "range": f"{part.first}-{part.last}",
        "lines": own.pack(2 * PART_TOKENS).quotes,
    }
    subjects = chunk_ids(evidence.documents, [(part.document, part.first, part.last)])
    return Call("read_part", slots, list[Item], subjects, lists_all=True)


def _halves(part: DocumentPart) -> tuple[DocumentPart, ...]:
    """A part in two, of which more was found than a reply may list; nothing where it is a line."""
    if part.first == part.last:
        return ()
    half = (part.first + part.last) // 2
    return replace(part, last=half), replace(part, first=half + 1)


def _draft(item: Item, part: DocumentPart) -> Draft:
    return Draft(
        text=item.item,
        document=part.document,
        first_line=item.first_line,
        last_line=item.last_line,
        quote=item.quote,
    )


def _cut(lines: Lines, tokens: int) -> Iterator[tuple[int, int]]:
    """Cut a document at its sections: short ones go together, a long one is cut between lines."""
    starts = {section.first for section in lines.sections}
    first = 1
    size = 0
    for number, text in enumerate(lines.texts, 1):
        length = len(approximate_token_ends(text))
        is_full = size + length > tokens or (number in starts and size > tokens // 2)
        if is_full and number > first:
            if size:
                yield first, number - 1
            first, size = number, 0
        size += length
    if size:
        yield first, len(lines.texts)


def _merge(items: Sequence[Sentence]) -> list[Sentence]:
    merged: dict[str, Sentence] = {}
    for item in items:
        key = _key(item.text)
        other = merged.get(key)
        if other is None or (other.doubt and not item.doubt):
            merged[key] = item
        elif not item.doubt:
            citations = tuple(dict.fromkeys((*other.citations, *item.citations)))
            merged[key] = Sentence(text=other.text, citations=citations)
    return list(merged.values())


def _key(text: str) -> str:
    """What makes two items one: their words, articles and case apart."""
    return " ".join(word for word in plain_words(text) if word not in IGNORABLE) or text


def _unread_doubts(
    unread: Sequence[DocumentPart],
    problems: Sequence[tuple[DocumentPart, ModelError]],
    evidence: ShownLines,
) -> Iterator[str]:
    if unread:
        documents = evidence.documents
        words = sum(documents[one.document].words(one.first, one.last) for one in unread)
        total = sum(lines.total_words for lines in documents.values())
        share = words / total if total else 0.0
        yield f"{len(unread)} parts, {share:.0%} of all words, were not read: there may be more"
    others = [(part, error) for part, error in problems if not isinstance(error, BudgetError)]
    for part, error in others[:_MOST_NAMED]:
        yield f"lines {part.first}-{part.last} of {part.document!r}: {error.message}"


def _add_up(
    items: Sequence[Sentence],
    doubts: Sequence[str],
    question: str,
    evidence: ShownLines,
    *,
    is_whole: bool,
) -> WrittenAnswer:
    named = len(evidence.documents) > 1
    listed = (render([replace(item, text=f"- {item.text}")], named=named) for item in items)
    holding = sum(not item.doubt for item in items)
    items_in = "1 item" if holding == 1 else f"{holding:,} items"
    searched = "every part" if is_whole else "the parts that were read"
    opening = f"Found in {searched}, {items_in}:"
    if not holding:
        opening = describe_absence(question, evidence)
    return WrittenAnswer(
        text="\n".join((opening, *listed)),
        sentences=tuple(items),
        found=holding > 0,
        doubts=tuple(doubts),
    )
