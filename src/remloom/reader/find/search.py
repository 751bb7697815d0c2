"""Search in documents: the lines with some words, and what to read for a question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from unicodedata import normalize

import numpy as np
from msgspec.structs import replace

from ...errors import InvalidInputError
from ...predicates import In
from ...retrieve.question import Embed, checked
from ...store.contract import Store
from ...store.indexes.arrays import Ids
from ...store.specs import SearchSpec
from ...text.analysis import IS_CJK, terms
from ...text.sentences import UNSPACED
from ..lines.lines import Lines, Passage
from .combined_documents import JoinedLines, best_first, select
from .term_scorer import LineIndex, QuestionTerms, Scores, quoted, read_question

_CHUNKS = 200  # nearest in meaning that are asked for
_CANDIDATES = 500  # best lines by BM25 that are looked at one by one

_NEIGHBOURS = 0.3  # what a paragraph gets of the scores of those before and after it
_WIDE = 0.6  # weight of the words of the wider passage
_TITLES = 0.8  # weight of the words of the headings above
_MEANING = 0.7  # weight of the likeness in meaning
_WORD = re.compile(rf"[{UNSPACED}]+|[^\s{UNSPACED}]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_EXACT = 2  # the exactness of a line that has the words in a row
_LINES = 3  # over which a phrase may go
_BATCH = 5_000  # lines read at a time


class LineSearch:
    """Searches the lines of documents; keeps an index of each.

    Args:
        embed: gives the vector of a question, or None: then words alone decide.
    """

    def __init__(self, store: Store, embed: Embed) -> None:
        self._store = store
        self._embed = embed
        self._indexes: dict[str, tuple[Lines, LineIndex]] = {}
        self._joined: JoinedLines | None = None

    def search(self, words: str, documents: Sequence[Lines], *, limit: int = 20) -> list[Passage]:
        """Find the lines with some of these words, best first: as written and in a row, then all of
        them so, then the others by BM25.

        A phrase in quotation marks must be there; it may go over line ends.

        Raises:
            InvalidInputError: there are no words, or the limit is below 1.
        """
        words = checked(words)
        _check_count(limit, "limit")
        if not documents:
            return []
        joined = self._join(documents)
        phrases = [_Phrase(phrase) for phrase in quoted(words)]
        written = _Phrase(checked(words.replace('"', " ")))
        scores = joined.terms.score(
            QuestionTerms(dict.fromkeys(terms(words), 1.0), {}), joined.lines.starts
        )
        most = float(scores.max(initial=0.0)) or 1.0
        left = limit
        highest = float(scores.max(initial=0.0)) + most * _EXACT
        found: list[tuple[float, int, int]] = []
        for at in _candidates(joined, scores, [written, *phrases]):
            texts = joined.documents[int(joined.lines.documents[at])].texts
            line = int(joined.lines.firsts[at])
            lasts = [line, *(phrase.last_line(texts, line) for phrase in phrases)]
            score = float(scores[at]) + most * written.exactness(texts[line - 1])
            if all(lasts) and score > 0:
                found.append((score, at, max(lasts)))
                # no other score is higher, and of equal ones the first comes first
                left -= score >= highest
                if not left:
                    break
        found.sort(key=lambda one: (-one[0], one[1]))
        return [
            joined.documents[int(joined.lines.documents[at])].passage(
                int(joined.lines.firsts[at]), last, score
            )
            for score, at, last in found[:limit]
        ]

    def find(
        self, question: str, documents: Sequence[Lines], *, words: int = 2000
    ) -> list[Passage]:
        """Find what to read for a question, most promising first, of at most so many words.

        Paragraphs are ranked by their words, those around them, and their meaning. Nothing is found
        when the documents have nothing of the question. If every paragraph is too long, the passage
        is a part of a line.

        Raises:
            InvalidInputError: the question is empty, or `words` is below 1.
        """
        question = checked(question)
        _check_count(words, "words")
        joined = self._join(documents) if documents else None
        if joined is None or not len(joined.paragraphs):
            return []
        scores = _score_paragraphs(joined, question, self._likeness(question, joined.documents))
        found = [
            joined.documents[one.document].passage(one.first, one.last, one.score)
            for one in select(joined, scores, words)
        ]
        best = int(scores.argmax())
        if found or scores[best] <= 0:
            return found
        return [_cut(joined, best, float(scores[best]), question, words)]

    def drop(self, uri: str) -> None:
        """Let go of the index of a document that was changed or forgotten."""
        self._indexes.pop(uri, None)
        self._joined = None

    def _likeness(self, question: str, documents: Sequence[Lines]) -> dict[str, float]:
        vector = self._embed(question)
        if vector is None:
            return {}
        uris = [lines.uri for lines in documents]
        spec = SearchSpec(schema="resources", where=In("uri", uris), limit=_CHUNKS)
        found = self._store.search.vector(vector, spec)
        return {match.record.id: match.score for match in found}

    def _join(self, documents: Sequence[Lines]) -> JoinedLines:
        """Join documents; those that are new, or were read again, are indexed."""
        joined = self._joined
        if joined is not None and list(map(id, joined.documents)) == list(map(id, documents)):
            return joined
        indexes = []
        for lines in documents:
            known = self._indexes.get(lines.uri)
            if known is None or known[0] is not lines:
                known = self._indexes[lines.uri] = lines, LineIndex(lines.texts)
            indexes.append(known[1])
        self._joined = joined = JoinedLines(documents, indexes)
        return joined


def _candidates(joined: JoinedLines, scores: Scores, phrases: Sequence[_Phrase]) -> Iterable[int]:
    """The lines that may be among the best, ascending."""
    if not any(phrase.terms for phrase in phrases):
        # no index has stop words
        return _read_for(joined, phrases[-1])
    best = best_first(scores, _CANDIDATES)
    found = set(best[scores[best] > 0].tolist())
    for phrase in phrases:
        if not phrase.terms:
            continue
        positions = joined.terms.positions_in_a_row(phrase.terms)
        if len(positions) > _CANDIDATES:
            # most may have other words between these terms, or other forms of them
            found.update(islice(_read_for(joined, phrase), _CANDIDATES))
        else:
            at = np.searchsorted(joined.lines.starts, positions, "right") - 1
            found.update(at.tolist())
    return sorted(found)


def _read_for(joined: JoinedLines, phrase: _Phrase) -> Iterator[int]:
    """Yield the lines in which a phrase begins, by their numbers, by reading them all."""
    spans = joined.lines
    for number, lines in enumerate(joined.documents):
        own = spans.of(number)
        firsts = spans.firsts[own]
        for line in phrase.first_lines(lines.texts):
            yield int(np.searchsorted(firsts, line)) + own.start


def _cut(joined: JoinedLines, paragraph: int, score: float, question: str, words: int) -> Passage:
    """The first line of a paragraph, cut to so many words: those with most of a question."""
    lines = joined.documents[int(joined.paragraphs.documents[paragraph])]
    line = int(joined.paragraphs.firsts[paragraph])
    whole = lines.passage(line, line, score)
    text = _excerpt(whole.text, read_question(question).terms, words)
    return replace(whole, text=text, words=min(whole.words, words))


def _check_count(value: int, name: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidInputError(f"`{name}` is {value!r}", remedy="give a whole number above 0")


def _excerpt(text: str, weights: Mapping[str, float], words: int) -> str:
    """Cut out at most so many words, those that together have the most of some terms.

    >>> _excerpt("much is said before the rent is due and much is said behind", {"rent": 1.0}, 4)
    '… the rent is due …'
    """
    spans: list[tuple[int, int]] = []
    weighed: list[float] = []
    known: dict[str, float] = {}
    for match in _WORD.finditer(text):
        word = match[0]
        if word not in known:
            known[word] = sum(weights.get(term, 0.0) for term in terms(word))
        if _UNSPACED.match(word):
            spans += [(at, at + 1) for at in range(*match.span())]
            weighed += [known[word] / len(word)] * len(word)
        else:
            spans.append(match.span())
            weighed.append(known[word])
    if len(spans) <= words:
        return text
    total = np.append(0.0, np.cumsum(weighed))
    inside = total[words:] - total[:-words]
    best = np.flatnonzero(inside >= inside.max() - 1e-9)
    # of those that are as good, the one in which it stands in the middle
    first = int(best[len(best) // 2])
    part = text[spans[first][0] : spans[first + words - 1][1]]
    before = "… " if first else ""
    after = " …" if first + words < len(spans) else ""
    return f"{before}{part}{after}"


def _score_paragraphs(
    joined: JoinedLines, question: str, likeness: Mapping[str, float] | None = None
) -> Scores:
    """Score each paragraph of documents for a question; 0 where nothing of it is."""
    question_terms = read_question(question)
    spans = joined.paragraphs
    spread_scores = _with_neighbours(
        joined.terms.score(question_terms, spans.starts), spans.documents
    )
    wide = joined.wide
    begins = np.flatnonzero(np.diff(wide, prepend=-1))
    around = joined.terms.score(question_terms, spans.starts[begins])[wide]
    # behind the last, for paragraphs that are in no section
    titles = np.append(joined.titles.score(question_terms, joined.titles.starts), 0.0)[
        joined.sections
    ]
    scores = _scaled(spread_scores) + _WIDE * _scaled(around) + _TITLES * _scaled(titles)
    if likeness:
        scores += _MEANING * _scaled(_spread(joined, likeness))
    return scores


def _spread(joined: JoinedLines, likeness: Mapping[str, float]) -> Scores:
    """Give each paragraph the likeness of the chunk that it is in, above the least of them."""
    spans = joined.paragraphs
    least = min(likeness.values())
    scores = np.zeros(len(spans))
    for number, lines in enumerate(joined.documents):
        own = spans.of(number)
        firsts, lasts, of_document = spans.firsts[own], spans.lasts[own], scores[own]
        for chunk in lines.chunks:
            if chunk.id in likeness:
                first = int(np.searchsorted(lasts, chunk.first))
                end = int(np.searchsorted(firsts, chunk.last, "right"))
                part = of_document[first:end]
                np.maximum(part, likeness[chunk.id] - least, out=part)
    return scores


def _with_neighbours(scores: Scores, documents: Ids) -> Scores:
    """Give each paragraph something of the scores of its neighbours in the same document."""
    spread = scores.copy()
    same = documents[1:] == documents[:-1]
    spread[1:] += _NEIGHBOURS * scores[:-1] * same
    spread[:-1] += _NEIGHBOURS * scores[1:] * same
    return spread


def _scaled(scores: Scores) -> Scores:
    scaled: Scores = scores / (scores.max(initial=0.0) or 1.0)
    return scaled


class _Phrase:
    """Words as they were written, but for case, width and blanks.

    >>> phrase = _Phrase("Effective Date")
    >>> phrase.exactness("the effective date."), phrase.exactness("Date: effective now")
    (2, 1)
    >>> phrase.last_line(["before the effective", "date of the lease"], 1)
    2
    """

    def __init__(self, text: str) -> None:
        folded = _fold(text)
        self.terms = terms(text)
        self._words = [_pattern(word) for word in folded.split()]
        self._row = _pattern(folded)
        self._anywhere = _pattern_in_lines(folded)

    def exactness(self, line: str) -> int:
        """`EXACT` if a line has the words in a row, 1 if it has all of them, else 0."""
        line = _fold(line)
        if self._row.search(line):
            return _EXACT
        return int(all(word.search(line) for word in self._words))

    def last_line(self, lines: Sequence[str], first: int) -> int:
        """The line in which it ends, if it begins in this one, both from 1; else 0."""
        text = ""
        begins_before = 0
        for line in range(first, min(first + _LINES, len(lines) + 1)):
            text = f"{text} {_fold(lines[line - 1])}".strip()
            begins_before = begins_before or len(text)
            match = self._row.search(text)
            if match:
                return line if match.start() < begins_before else 0
        return 0

    def first_lines(self, lines: Sequence[str]) -> Iterator[int]:
        """Yield the lines in which it may begin, each once, from 1; quick with many lines."""
        last = 0
        for start in range(0, len(lines), _BATCH):
            text = "\n".join(lines[start : start + _BATCH + _LINES - 1]).casefold()
            line = start
            counted = 0
            for match in self._anywhere.finditer(text):
                line += text.count("\n", counted, match.start())
                counted = match.start()
                if last <= line < start + _BATCH:
                    last = line + 1
                    yield last


def _fold(text: str) -> str:
    if not text.isascii():
        text = normalize("NFKC", text)
    return " ".join(text.casefold().split())


def _pattern(text: str) -> re.Pattern[str]:
    """What matches a folded text where no word goes on around it."""
    before = r"(?<!\w)" if _is_spaced(text[:1]) else ""
    after = r"(?!\w)" if _is_spaced(text[-1:]) else ""
    return re.compile(before + re.escape(text) + after)


def _pattern_in_lines(text: str) -> re.Pattern[str]:
    """As `_pattern`, with any blanks and line ends between words."""
    first, *others = map(re.escape, text.split())
    # a search is quick where a pattern begins with a letter: what must not stand before the first
    # word is looked at behind it
    before = rf"(?<!\w{first})" if _is_spaced(text[:1]) else ""
    after = r"(?!\w)" if _is_spaced(text[-1:]) else ""
    return re.compile(r"\s+".join([first + before, *others]) + after)


def _is_spaced(char: str) -> bool:
    return char.isalnum() and not IS_CJK.match(char)
