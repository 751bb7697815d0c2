"""The lines that were shown in a reading, and how they are packed into a prompt."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from ...llm import Quote
from ...text.quoting import one_line
from ...text.sentences import approximate_token_ends
from ..lines.lines import Lines

_MOST_PASSAGES = 4_000  # that are remembered; beyond, those of the least value are not
_LONGEST_LINE = 6_000  # characters of a line that are shown
_HEADING_TOKENS = 12  # of the line above a block
_NUMBER_TOKENS = 4  # of the number before a line


class _Shown(Struct, frozen=True, gc=False):
    document: str
    first: int
    last: int
    value: float


class PackedEvidence(Struct, frozen=True, kw_only=True):
    """Lines for a prompt: the best that fit, in the order of their documents."""

    quotes: tuple[Quote, ...] = ()  # one for each document
    coverage: Mapping[str, Coverage] = {}  # the lines in them, by the names of documents
    tokens: int = 0  # of the quotes, approximately
    left_out: int = 0  # lines that had been shown and did not fit
    cut: int = 0  # lines in the quotes that are too long, and were shown in part


class ShownLines:
    """The lines that were shown in a reading.

    Args:
        documents: the lines of each document, by its name; more may be opened meanwhile.
    """

    def __init__(self, documents: Mapping[str, Lines]) -> None:
        self.documents = documents
        self._coverage: dict[str, Coverage] = {}
        self._shown: list[_Shown] = []

    def add(self, document: str, first: int, last: int, *, value: float = 0.0) -> None:
        """Note that these lines, both included, were shown, as far as the document has them.

        Args:
            value: their rank when packed; of equal ones, those that were shown first go first.
        """
        first = max(first, 1)
        last = min(last, len(self.documents[document]))
        if first > last:
            return
        self._coverage.setdefault(document, Coverage()).add(first, last)
        self._shown.append(_Shown(document, first, last, value))
        if len(self._shown) > 2 * _MOST_PASSAGES:
            self._shown = self._ranked()[:_MOST_PASSAGES]

    def coverage(self, document: str) -> Coverage:
        return self._coverage.get(document) or Coverage()

    def was_shown(self, document: str, first: int, last: int) -> bool:
        texts = self.documents[document].texts
        if not 1 <= first <= last <= len(texts):
            return False
        gaps = list(self.coverage(document).unread(first, last))
        is_unread = gaps == [(first, last)]
        return not is_unread and all(_is_blank(texts, *gap) for gap in gaps)

    def ranges(self) -> Iterator[tuple[str, int, int]]:
        """Yield all that was shown as document, first and last line, in reading order."""
        for name in self.documents:
            for first, last in self.coverage(name):
                yield name, first, last

    def best(self, most: int) -> list[tuple[str, int, int]]:
        spans = ((shown.document, shown.first, shown.last) for shown in self._ranked())
        return list(dict.fromkeys(spans))[:most]

    @property
    def unique_lines(self) -> int:
        return sum(len(coverage) for coverage in self._coverage.values())

    @property
    def total_words(self) -> int:
        return sum(self.documents[name].words(*span) for name, *span in self.ranges())

    def shares(self) -> dict[str, float]:
        """The share of each document's words that was shown, 0 to 1, by its name."""
        shares = {}
        for name, lines in self.documents.items():
            shown = sum(lines.words(first, last) for first, last in self.coverage(name))
            whole = lines.total_words
            shares[name] = shown / whole if whole else 1.0
        return shares

    def pack(self, tokens: int) -> PackedEvidence:
        """Choose what was shown for a prompt of so many tokens, the most valuable first.

        What does not fit whole goes in up to the line that still fits; what is left out is counted.
        """
        packed: dict[str, Coverage] = {}
        left = tokens
        for shown in self._ranked():
            coverage = packed.setdefault(shown.document, Coverage())
            lines = self.documents[shown.document]
            for first, last in list(coverage.unread(shown.first, shown.last)):
                end, used = fit_lines(lines, first, last, left)
                coverage.add(first, end)
                left -= used
                if end < last:
                    return self._packed(packed, tokens - left)
        return self._packed(packed, tokens - left)

    def _ranked(self) -> list[_Shown]:
        return sorted(self._shown, key=lambda shown: -shown.value)

    def _packed(self, packed: Mapping[str, Coverage], tokens: int) -> PackedEvidence:
        chosen = {name: packed[name] for name in self.documents if packed.get(name)}
        quotes = []
        for name, coverage in chosen.items():
            lines = self.documents[name]
            prefix = f"{one_line(name, 0)}: " if len(self.documents) > 1 else ""
            text = "\n\n".join(
                f"[{prefix}Lines {first}-{last}]\n{number_lines(lines, first, last)}"
                for first, last in _blocks(lines.texts, coverage)
            )
            quotes.append(Quote(text, source=name))
        return PackedEvidence(
            quotes=tuple(quotes),
            coverage=chosen,
            tokens=tokens,
            left_out=self.unique_lines - sum(map(len, chosen.values())),
            cut=sum(
                len(text) > _LONGEST_LINE
                for name, coverage in chosen.items()
                for first, last in coverage
                for text in self.documents[name].texts[first - 1 : last]
            ),
        )


def number_lines(lines: Lines, first: int, last: int) -> str:
    """Write lines with their numbers, as "12| text", so that none can pass for ours. Blank ones are
    left out, long ones cut."""
    numbered = enumerate(lines.texts[first - 1 : last], first)
    return "\n".join(f"{number}| {_shown_text(text)}" for number, text in numbered if text.strip())


def _shown_text(text: str) -> str:
    if len(text) <= _LONGEST_LINE:
        return text
    return f"{text[:_LONGEST_LINE]}… ({len(text) - _LONGEST_LINE:,} more characters)"


def fit_lines(lines: Lines, first: int, last: int, tokens: int) -> tuple[int, int]:
    """Return the last of these lines up to which they fit, and the tokens that they take,
    approximately, with their heading and numbers."""
    used = _HEADING_TOKENS
    for number, text in enumerate(lines.texts[first - 1 : last], first):
        size = 0
        if text.strip():
            size = len(approximate_token_ends(_shown_text(text))) + _NUMBER_TOKENS
        if used + size > tokens:
            return number - 1, used if number > first else 0
        used += size
    return last, used


def _blocks(texts: Sequence[str], coverage: Coverage) -> Iterator[tuple[int, int]]:
    """Yield ranges of lines; those with only blank lines between them are one."""
    block: tuple[int, int] | None = None
    for first, last in coverage:
        if block and _is_blank(texts, block[1] + 1, first - 1):
            block = (block[0], last)
            continue
        if block:
            yield block
        block = (first, last)
    if block:
        yield block


def _is_blank(texts: Sequence[str], first: int, last: int) -> bool:
    return not any(text.strip() for text in texts[first - 1 : last])


class Coverage:
    """The lines of one document that were read, as ranges that neither touch nor overlap.

    >>> coverage = Coverage([(1, 3), (4, 6), (9, 9)])
    >>> list(coverage), len(coverage), 5 in coverage
    ([(1, 6), (9, 9)], 7, True)
    """

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in ranges:
            self.add(first, last)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(zip(self._firsts, self._lasts, strict=True))

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self)

    def __contains__(self, line: int) -> bool:
        at = bisect_right(self._firsts, line) - 1
        return at >= 0 and line <= self._lasts[at]

    def add(self, first: int, last: int) -> None:
        """Note that these lines, both included, were read."""
        if first > last:
            return
        # ranges that overlap the new one, or touch it, become one with it
        start = bisect_left(self._lasts, first - 1)
        end = bisect_right(self._firsts, last + 1)
        if start < end:
            first = min(first, self._firsts[start])
            last = max(last, self._lasts[end - 1])
        self._firsts[start:end] = [first]
        self._lasts[start:end] = [last]

    def covers(self, first: int, last: int) -> bool:
        """Whether all of these lines were read."""
        at = bisect_right(self._firsts, first) - 1
        return at >= 0 and last <= self._lasts[at]

    def unread(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges within these lines that were not read."""
        at = first
        for begin, end in self:
            if end < at:
                continue
            if begin > last:
                break
            if begin > at:
                yield at, begin - 1
            at = end + 1
        if at <= last:
            yield at, last
