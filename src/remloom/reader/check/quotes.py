"""Quotes: the words that an answer rests on, looked for in the lines of documents.

Blanks, line ends, quotation marks, dashes, capitals, ligatures, Markdown and hyphens at line ends
make no difference.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from math import log
from unicodedata import normalize

from msgspec import Struct
from msgspec.structs import replace

from ...text.sentences import UNSPACED
from ..result import Found
from .evidence import ShownLines

CLOSE = 90  # of 100: how like the lines a quote is that counts as close
_SPELLED = 80  # of 100: how like a word is that may be the same, written wrongly
_FARTHEST = 120  # words that an ellipsis stands for at most
_MOST_CITED = 400  # lines of a citation that are searched before all others
# words that a quote may leave out or have too many of, and still be the same words
_IGNORABLE = """
    a an the such said this that these those of to and
    der die das den dem des ein eine einer eines einem einen
    le la les un une des du el los las una unos unas il lo gli i o os as um uma de het een
"""
IGNORABLE = frozenset(_IGNORABLE.split())
# words that turn a statement around: such a word is never another one, written wrongly
_NEGATORS = """
    not no never none nothing nobody neither nor without cannot cant dont doesnt didnt isnt arent
    wasnt werent wont wouldnt shouldnt couldnt hasnt havent hadnt mustnt neednt nowhere
    nicht kein keine keiner keinem keinen keines nie niemals ohne weder
    ne pas jamais aucun aucune sans rien ni
    nunca jamás ningún ninguna ninguno sin nada tampoco
    non mai nessuno nessuna nessun senza
    não nem nenhum nenhuma sem
    niet geen nooit zonder
"""
NEGATORS = frozenset(_NEGATORS.split())
_MARGIN = 3  # words around such a place that are compared, too

_LETTER = rf"(?:[^\W\d_{UNSPACED}]|[\u0300-\u036f])"
_HYPHEN = "-\u2010\u2011\u00ad"
WORD = re.compile(
    rf"[{UNSPACED}]|\d+(?:,\d{{3}}(?!\d)|\.\d+)*"
    rf"|{_LETTER}+(?:(?:['’]|[{_HYPHEN}](?:[ \t]*\n[ \t]*)?){_LETTER}+)*|[%$€£¥§]"
)
_INNER = str.maketrans("", "", f"{_HYPHEN}'’,\n\t")
_BROKEN = re.compile(rf"{_LETTER}[{_HYPHEN}]\s*\Z")
_LINE_NUMBER = re.compile(r"(?<!\S)\d{1,7}\|\s?")
_HEADING = re.compile(r"\[[^\[\]\n]{0,80}\bLines \d+-\d+\]")
_ELLIPSIS = re.compile(r"[\[(]?\s*(?:…|\.\s?\.\s?\.)+\s*[\])]?")
_RARE = 8  # words of a quote by which lines that are like it are found
_MOST_LINES = 1_000  # with one of these words that are looked at
_CANDIDATES = 4  # lines that are like a quote


class QuoteMatch(Struct, frozen=True, gc=False, kw_only=True):
    """Where a quote, or a part of it, was found."""

    found: Found = "verbatim"
    document: str = ""
    first: int = 0  # lines, from 1, both included, that the quote is in
    last: int = 0
    start: int = 0  # the first of its words, counted from 0 in line `first`
    words: int = 0  # from its first word to its last, what an ellipsis leaves out included
    problem: str = ""  # why it was not found


class QuoteFinder:
    """Looks for quotes in what was shown of documents; it reads each line once."""

    def __init__(self, evidence: ShownLines) -> None:
        self._evidence = evidence
        self._lines: dict[tuple[str, int], tuple[str, ...]] = {}
        self._shown: ShownWords | None = None

    def find(self, quote: str, document: str, first: int, last: int) -> QuoteMatch:
        """Look for a quote in these lines, then in all others that were shown."""
        parts = quote_words(quote)
        if not parts:
            return QuoteMatch(found="unfounded", problem="there is no quote")
        problem = ""
        cited = [*self._cited(document, first, last)]
        for run in cited:
            if span := run.find(parts, farthest=_FARTHEST):
                return span
        for run in cited:
            words, problem = _find_close(run, parts)
            if words:
                return replace(run.span(*words), found="close")
        return self._find_elsewhere(parts, document, first) or QuoteMatch(
            found="unfounded", problem=problem or "the quote is in no line that was shown"
        )

    def _cited(self, document: str, first: int, last: int) -> Iterator[WordRun]:
        """The lines that are cited, as far as they were shown."""
        if document not in self._evidence.documents or first > last:
            return
        last = min(last, first + _MOST_CITED)
        for begin, end in self._evidence.coverage(document):
            if begin <= last and first <= end:
                yield self._run(document, max(begin, first), min(end, last))

    def _find_elsewhere(
        self, parts: Sequence[Sequence[str]], document: str, line: int
    ) -> QuoteMatch | None:
        """The nearest match among all lines that were shown."""
        if self._shown is None:
            self._shown = ShownWords([self._run(*shown) for shown in self._evidence.ranges()])
        if span := self._shown.find(parts, document, line, farthest=_FARTHEST):
            return replace(span, found="moved")
        for run in self._shown.likely(parts):
            words, _ = _find_close(run, parts)
            if words:
                return replace(run.span(*words), found="moved")
        return None

    def _run(self, document: str, first: int, last: int) -> WordRun:
        """The words of lines, both included; one that is parted at a line end is of the first."""
        texts = self._evidence.documents[document].texts
        words: list[str] = []
        ends = []
        is_broken = False
        for line in range(first, last + 1):
            text = texts[line - 1]
            of_line = self._words_of_line(document, line, text)
            if is_broken and of_line and words and of_line[0][0].isalpha():
                words[-1] += of_line[0]
                of_line = of_line[1:]
            words += of_line
            ends.append(len(words))
            # the line's own last word goes on in the next
            is_broken = bool(_BROKEN.search(text[-40:]))
        return WordRun(document, first, words, ends)

    def _words_of_line(self, document: str, line: int, text: str) -> tuple[str, ...]:
        key = (document, line)
        if key not in self._lines:
            self._lines[key] = tuple(plain_words(text))
        return self._lines[key]


def quote_words(quote: str) -> list[list[str]]:
    """The words of a quote, in the parts that an ellipsis parts; line numbers are not words of it.

    >>> quote_words("12| The “term” … is 1,000 days")
    [['the', 'term'], ['is', '1000', 'days']]
    """
    # of many blanks a search would take long
    line = " ".join(quote.split())
    plain = _LINE_NUMBER.sub(" ", _HEADING.sub(" ", line))
    parts = (plain_words(part) for part in _ELLIPSIS.split(plain))
    return [part for part in parts if part]


def folded(text: str) -> str:
    """A text in its compatibility form, as its words are read from it."""
    return text if text.isascii() else normalize("NFKC", text)


def plain_words(text: str) -> list[str]:
    """The words of a text as they are compared: folded, without hyphens and apostrophes."""
    return " ".join(WORD.findall(folded(text).casefold())).translate(_INNER).split()


def _find_close(run: WordRun, parts: Sequence[Sequence[str]]) -> tuple[tuple[int, int] | None, str]:
    """Where a run has nearly these words; or else what it says instead of some of them."""
    from rapidfuzz import fuzz

    spans = []
    joined = run.joined
    for part in parts:
        text = f" {' '.join(part)} "
        if len(text) > len(joined) * 1.1:
            return None, ""
        best = fuzz.partial_ratio_alignment(text, joined, score_cutoff=CLOSE)
        if best is None or len(part) > 1.2 * len(run.words):
            return None, ""
        start = run.word_at(min(best.dest_start, len(joined) - 2))
        end = run.word_at(max(best.dest_end - 2, 0)) + 1
        # words that one side has too many move the ends
        problems = []
        for margin in (0, 1, _MARGIN):
            begin, stop = max(start - margin, 0), min(end + margin, len(run.words))
            lead, trail, problem = _differences(part, run.words[begin:stop])
            if not problem:
                spans.append((begin + lead, stop - trail))
                break
            problems.append(problem)
        else:
            return None, problems[0]
    begin, end = spans[0][0], spans[-1][1]
    is_in_order = all(0 <= later[0] - earlier[1] <= _FARTHEST for earlier, later in pairwise(spans))
    return ((begin, end - begin), "") if is_in_order else (None, "")


def _differences(quote: Sequence[str], words: Sequence[str]) -> tuple[int, int, str]:
    """How many words of a document stand before and after what is quoted, and what differs in a way
    that may change what is said."""
    from rapidfuzz.distance import Levenshtein

    lead = trail = 0
    operations = Levenshtein.opcodes(quote, words)
    for is_equal, group in groupby(operations, key=lambda part: part.tag == "equal"):
        if is_equal:
            continue
        parts = list(group)
        begin, end = parts[0], parts[-1]
        quoted = quote[begin.src_start : end.src_end]
        written = words[begin.dest_start : end.dest_end]
        # what stands before and after a quote is not a part of it
        if not quoted and begin.src_start == 0:
            lead = len(written)
        elif not quoted and end.src_end == len(quote):
            trail = len(written)
        elif problem := _difference(quoted, written):
            # the last word may differ in spelling, with others behind it
            if begin.src_start == 0 and not _difference(quoted, written[-len(quoted) :]):
                lead = len(written) - len(quoted)
            elif end.src_end == len(quote) and not _difference(quoted, written[: len(quoted)]):
                trail = len(written) - len(quoted)
            else:
                return 0, 0, problem
    return lead, trail, ""


def _difference(quoted: Sequence[str], written: Sequence[str]) -> str:
    quoted = [word for word in quoted if word not in IGNORABLE]
    written = [word for word in written if word not in IGNORABLE]
    if quoted == written or _is_misspelled("".join(quoted), "".join(written)):
        return ""
    if not quoted:
        return f"the quote leaves out {' '.join(written)!r}"
    if not written:
        return f"the lines do not say {' '.join(quoted)!r} there"
    return f"the quote says {' '.join(quoted)!r}, the lines {' '.join(written)!r}"


def _is_misspelled(one: str, other: str) -> bool:
    """Whether two may be one word, written wrongly; numbers and "employer/employee" never are."""
    from rapidfuzz import fuzz

    if min(len(one), len(other)) < 4 or one[0] != other[0] or not (one + other).isalpha():
        return False
    if not NEGATORS.isdisjoint((one, other)):
        return False
    # what somebody does, and to whom it is done
    if one.endswith("ee") != other.endswith("ee"):
        return False
    return fuzz.ratio(one, other) >= _SPELLED


class WordRun(Struct, frozen=True, dict=True):
    """The words of consecutive lines."""

    document: str
    first: int  # line
    words: Sequence[str]
    ends: Sequence[int]  # of each line: how many words there are up to its end

    @cached_property
    def joined(self) -> str:
        return f" {' '.join(self.words)} "

    def word_at(self, offset: int) -> int:
        """The number of the word, from 0, that begins or is at an offset of the joined words."""
        return bisect_right(self._starts, offset) - 1

    @cached_property
    def _starts(self) -> list[int]:
        """Where each of the joined words begins, with the blank before it, and where they end."""
        return list(accumulate((len(word) + 1 for word in self.words), initial=0))

    def find(self, parts: Sequence[Sequence[str]], *, farthest: int) -> QuoteMatch | None:
        """Find where parts of a quote follow each other.

        Args:
            farthest: how many words there may be between two parts.
        """
        texts = [f" {' '.join(part)} " for part in parts]
        # where each part was last found; none is looked for twice in the same words
        found = [-1] * len(texts)
        while True:
            offset = found[0] + 1
            start = end = -1
            for number, (part, text) in enumerate(zip(parts, texts, strict=True)):
                if found[number] < offset:
                    found[number] = self.joined.find(text, offset)
                if found[number] < 0:
                    return None
                begin = self.word_at(found[number])
                if start < 0:
                    start = begin
                elif begin - end > farthest:
                    break
                end = begin + len(part)
                offset = found[number] + len(text) - 1
            else:
                return self.span(start, end - start)

    def span(self, start: int, count: int) -> QuoteMatch:
        """Locate so many of its words."""
        line = bisect_right(self.ends, start)
        return QuoteMatch(
            document=self.document,
            first=self.first + line,
            last=self.first + bisect_right(self.ends, start + count - 1),
            start=start - (self.ends[line - 1] if line else 0),
            words=count,
        )

    def around(self, line: int, margin: int) -> WordRun:
        """The words of a line, counted from 0 in this run, and of so many lines on each side."""
        first, end = max(line - margin, 0), line + margin + 1
        before = self.ends[first - 1] if first else 0
        ends = [count - before for count in self.ends[first:end]]
        words = self.words[before : before + ends[-1]]
        return WordRun(self.document, self.first + first, words, ends)


class ShownWords:
    """The words of several runs. Nothing is found that goes from one into another."""

    def __init__(self, runs: Sequence[WordRun]) -> None:
        self._runs = tuple(runs)

    def find(
        self, parts: Sequence[Sequence[str]], document: str, line: int, *, farthest: int
    ) -> QuoteMatch | None:
        """Find where parts of a quote follow each other, nearest to a line of a document."""

        def distance(run: WordRun) -> tuple[bool, int]:
            return run.document != document, abs(run.first - line)

        found = (run.find(parts, farthest=farthest) for run in sorted(self._runs, key=distance))
        return next(filter(None, found), None)

    def likely(self, parts: Sequence[Sequence[str]]) -> Iterator[WordRun]:
        """Yield lines with their surroundings that have half of the words of a quote or more: those
        that have most of its rarest words."""
        quote_words = {word for part in parts for word in part}
        # a quote of many words goes over several lines
        margin = 1 + sum(map(len, parts)) // 8
        having = [self._lines[word] for word in quote_words & self._lines.keys()]
        having.sort(key=lambda lines: (len(lines), lines[0]))
        weights: Counter[int] = Counter()
        for lines in having[:_RARE]:
            rarity = log(1 + self._first_lines[-1] / len(lines))
            weights.update(dict.fromkeys(lines[:_MOST_LINES], rarity))
        for line in sorted(weights, key=lambda line: (-weights[line], line))[:_CANDIDATES]:
            at = bisect_right(self._first_lines, line) - 1
            run = self._runs[at].around(line - self._first_lines[at], margin)
            if 2 * len(quote_words.intersection(run.words)) >= len(quote_words):
                yield run

    @cached_property
    def _first_lines(self) -> list[int]:
        """The number of the first line of each run; lines are counted through from 0."""
        return list(accumulate((len(run.ends) for run in self._runs), initial=0))

    @cached_property
    def _lines(self) -> dict[str, list[int]]:
        """The lines that each word is in, by their numbers."""
        lines: dict[str, list[int]] = {}
        for number, run in zip(self._first_lines, self._runs, strict=False):
            for line, (begin, end) in enumerate(pairwise((0, *run.ends)), number):
                for word in dict.fromkeys(run.words[begin:end]):
                    lines.setdefault(word, []).append(line)
        return lines
