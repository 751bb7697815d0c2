"""What a head sees of a claim beside the lines that it is of: the words in which they differ, how
much of it the lines have, and in which order."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, groupby, pairwise, product
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np

from ..text.analysis import terms_of_word
from ..text.sentences import UNSPACED
from .features import BUCKETS, frequent, tokens

if TYPE_CHECKING:
    from .features import Features


_MOST = 8_000  # characters of a claim, or of lines, that are compared
_LONGEST = 6  # words of the lines that may stand in the place of words of the claim
_LONG = 5  # characters of a word that says something even if it is frequent
_STEPS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.999)  # of a share
_COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
_SHARES = "%‰"
_COPY = 0.7  # share of a claim's words, in the order of the lines, from which on it repeats them
_FORM = 0.6  # likeness from which on a word may be another form of one of the lines
_MOST_COUNTED = 4
_RARE, _NUMBER, _FREQUENT = "_", "0", "frequent"  # classes of words
_PIECE = re.compile(rf"[{UNSPACED}]|[^{UNSPACED}]+")


class Difference(NamedTuple):
    """Words of a claim that are not in the lines there, and those that the lines have instead.

    Args:
        start: of the claim's words, the first; where there are none, the one that follows.
        instead: none if they are more than a few: then the claim leaves out what the lines say.
        left_out: words of the lines, those of `instead` included.
    """

    start: int
    words: Sequence[str]
    instead: Sequence[str]
    left_out: int


class Comparison(NamedTuple):
    """A claim beside lines.

    Args:
        words: of the claim, folded.
        written: the words of the lines.
        in_order: words of the claim that the lines have in the same order, by their stems.
        there: which words of the claim the lines have anywhere.
        parts: where they differ.
    """

    words: Sequence[str]
    written: Sequence[str]
    in_order: int
    there: Sequence[bool]
    parts: Sequence[Difference]

    @property
    def is_copy(self) -> bool:
        """Whether the claim repeats the lines but for a few words."""
        return self.in_order >= _COPY * max(len(self.words), 1)

    @property
    def is_within(self) -> bool:
        """Whether the words of the claim stand in the lines as they are, one after another."""
        return f" {' '.join(self.words)} " in f" {' '.join(self.written)} "

    @property
    def is_same(self) -> bool:
        return self.words == self.written


def compare(claim: str, lines: str) -> Comparison:
    """Find the words in which a claim differs from the lines that it is of.

    >>> for part in compare("She was fired in May.", "She was hired in May, on a Monday.").parts:
    ...     print(part.start, part.words, part.instead)
    2 ['fired'] ['hired']
    5 [] ['on', 'a', 'monday']
    """
    from rapidfuzz.distance import LCSseq

    claimed, written = _words(claim), _words(lines)
    own, theirs = list(map(_stem, claimed)), list(map(_stem, written))
    stems = set(theirs)
    codes = LCSseq.opcodes(own, theirs)
    parts = []
    for is_equal, group in groupby(codes, lambda part: part.tag == "equal"):
        some = list(group)
        start, end = some[0].src_start, some[-1].src_end
        instead = written[some[0].dest_start : some[-1].dest_end]
        if is_equal or (start == end and len(instead) > _LONGEST):
            continue
        few = instead if len(instead) <= _LONGEST else []
        parts.append(Difference(start, claimed[start:end], few, len(instead)))
    return Comparison(
        words=claimed,
        written=written,
        in_order=sum(code.src_end - code.src_start for code in codes if code.tag == "equal"),
        there=[word in stems for word in own],
        parts=parts,
    )


def differences(claim: str, lines: str) -> Features:
    """The buckets of a claim and the lines that it is of, in ascending order, each once."""
    return _buckets(set(_named(compare(claim, lines))))


def _buckets(named: set[str]) -> Features:
    hashed = np.fromiter((crc32(name.encode()) for name in named), np.uint32, len(named))
    return np.unique(hashed % BUCKETS).astype(np.int64)


def transition(later: str, earlier: str) -> Features:
    """The buckets of what somebody said later beside what they said earlier: those of the words in
    which they differ, of those that they share, and of the later ones in their order."""
    compared = compare(later, earlier)
    shared = compress(compared.words, compared.there)
    pairs = pairwise(("^", *compared.words, "$"))
    return _buckets({*_named(compared), *map("={}".format, shared), *map(" ".join, pairs)})


def content_words(text: str) -> dict[str, str]:
    """The words of a text that say something, by their stems: those that few texts have, or long.

    >>> content_words("On Tuesday she was hired by the bank")
    {'tuesday': 'tuesday', 'hire': 'hired', 'bank': 'bank'}
    """
    known = frequent()
    return {
        term: word
        for word in tokens(text, len(text))
        if word[0].isalnum() and (word not in known or len(word) >= _LONG)
        for term in terms_of_word(word)
    }


def _named(compared: Comparison) -> Iterator[str]:
    is_copy = compared.is_copy
    many = max(len(compared.words), 1)
    shared = sum(compared.there)
    yield from _at_least("in order", compared.in_order / many, _STEPS)
    yield from _at_least("shared", shared / many, _STEPS)
    yield from _at_least("length", len(compared.words) / max(len(compared.written), 1), _STEPS)
    yield from _at_least("words", len(compared.words), _COUNTS)
    yield from _at_least("moved", shared - compared.in_order, _COUNTS)
    yield from _at_least("parts", len(compared.parts), _COUNTS)
    yield from _at_least(f"parts {is_copy}", len(compared.parts), _COUNTS)
    for part in compared.parts:
        sizes = f"{min(len(part.words), 4)} for {min(part.left_out, _LONGEST)}"
        yield sizes
        yield f"{sizes} {is_copy}"
        for sign, words in (("+", part.words), ("-", part.instead)):
            for word in words:
                for name in {word, _class(word)}:
                    yield f"{sign}{name}"
                    yield f"{sign}{name} {is_copy}"
        for word, other in product(part.words, part.instead):
            yield f"{word}|{other}"
            yield f"{_class(word)}|{_class(other)}"
            yield f"{_class(word)}|{_class(other)} {is_copy}"
            yield from _at_least("alike", _likeness(word, other), _STEPS)
    for name in _named_anywhere(compared):
        yield name
        yield f"{name} {is_copy}"


def _named_anywhere(compared: Comparison) -> Iterator[str]:
    """What the claim has that is nowhere in the lines, what only stands elsewhere in them, and what
    it leaves out."""
    new = _by_class(
        word for word, is_there in zip(compared.words, compared.there, strict=True) if not is_there
    )
    moved = _by_class(
        word
        for part in compared.parts
        for place, word in enumerate(part.words, part.start)
        if compared.there[place]
    )
    own = set(map(_stem, compared.words))
    instead = (word for part in compared.parts for word in part.instead)
    lost = _by_class(word for word in instead if _stem(word) not in own)
    rare = list(dict.fromkeys(word for word in compared.written if _class(word) == _RARE))
    others = [word for word in new[_RARE] if not _has_form(word, rare)]
    counts = {
        "new": len(new[_RARE]),
        "new number": len(new[_NUMBER]),
        "new frequent": len(new[_FREQUENT]),
        "other": len(others),
        "moved": len(moved[_RARE]) + len(moved[_NUMBER]),
        "lost": len(lost[_RARE]),
    }
    yield from (f"{name}: {min(count, _MOST_COUNTED)}" for name, count in counts.items())
    which = [bool(counts[name]) for name in ("other", "new number", "moved")]
    yield f"other, number, moved: {which}"
    yield from (f"new {word}" for word in new[_FREQUENT])
    yield from (f"lost {word}" for word in lost[_FREQUENT])


def _by_class(words: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {_RARE: [], _NUMBER: [], _FREQUENT: []}
    for word in dict.fromkeys(words):
        name = _class(word)
        found[name if name in found else _FREQUENT].append(word)
    return found


def _has_form(word: str, others: Sequence[str]) -> bool:
    """Whether a word is among others in another form: "obligated" for "obligation"."""
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import extractOne

    likeness = LCSseq.normalized_similarity
    return extractOne(word, others, scorer=likeness, score_cutoff=_FORM) is not None


def _at_least(name: str, value: float, steps: Iterable[float]) -> Iterator[str]:
    yield from (f"{name} {step}" for step in steps if value >= step)


def _class(word: str) -> str:
    """A number, a word that is frequent, or any other."""
    if word[0].isdigit():
        return _NUMBER
    return word if word in frequent() else _RARE


def _likeness(word: str, other: str) -> float:
    from rapidfuzz.distance import LCSseq

    return LCSseq.normalized_similarity(word, other)


def _words(text: str) -> list[str]:
    # what a number counts is a word as well: "€", "%"
    words = (token for token in tokens(text, _MOST) if token[0].isalnum() or _is_unit(token))
    # of a script without blanks each character is a word
    return [piece for word in words for piece in _pieces(word)]


def _is_unit(mark: str) -> bool:
    return mark[0] in _SHARES or unicodedata.category(mark[0]) == "Sc"


def _pieces(word: str) -> Sequence[str]:
    return (word,) if word.isascii() or _is_unit(word[0]) else _PIECE.findall(word)


def _stem(word: str) -> str:
    return next(iter(terms_of_word(word)), word)
