"""What a head sees of a text without an embedder: its words and runs of characters, and its shape,
which is the order of its frequent words with all others left open. Each is hashed into one of a
fixed number of buckets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Features: TypeAlias = NDArray[np.int64]


BUCKETS = 1 << 15
FREQUENT = "frequent.txt"  # the words that make the shape: those most frequent in each language
LONGEST = 600  # characters of a text that are looked at
_TOKEN = re.compile(r"\w+(?:'\w+)?|[^\w\s]")
_RUNS = (3, 4, 5)  # characters
_WORD = re.compile(r"[^\W\d_]+")
_SHORT_RUNS = (1, 2, 3)  # letters
_SHORT_BUCKETS = 1 << 13  # enough for so short runs, and less to weigh
_SHAPES = (2, 3, 4)  # words
_FIRST = 5  # words whose place counts
_OPEN, _NUMBER, _BEGIN, _END = "_", "0", "^", "$"
# odd multipliers of a rolling hash, one for each place of a run
_PLACES = np.array([2654435761, 2246822519, 3266489917, 668265263, 374761393], dtype=np.uint32)


def features(text: str) -> Features:
    """The buckets of a text, in ascending order, each once."""
    words = tokens(text)
    named = [*words, *map(" ".join, pairwise((_BEGIN, *words, _END))), *_shapes(words)]
    hashed = [np.fromiter((crc32(name.encode()) for name in named), np.uint32, len(named))]
    letters = np.frombuffer(f" {' '.join(words)} ".encode("utf-32-le"), dtype=np.uint32)
    hashed.extend(_runs(letters, _RUNS))
    return np.unique(np.concatenate(hashed) % BUCKETS).astype(np.int64)


def wording(text: str) -> Features:
    """The buckets of a text's words and pairs of words alone: a quarter of the work of
    `features`."""
    words = tokens(text)
    named = dict.fromkeys((*words, *map(" ".join, pairwise((_BEGIN, *words, _END)))))
    return np.fromiter((crc32(name.encode()) % BUCKETS for name in named), np.int64, len(named))


def spelling(text: str) -> Features:
    """The buckets of the short runs of letters in a text's first words, which tell its language.

    Words with a capital letter are left out: names are of no language.
    """
    words = _WORD.findall(unicodedata.normalize("NFKC", text[:LONGEST]))
    small = " ".join(word for word in words if not word[0].isupper())
    letters = np.frombuffer(f" {small} ".encode("utf-32-le", "replace"), dtype=np.uint32)
    hashed = np.concatenate([*_runs(letters, _SHORT_RUNS)])
    return np.unique(hashed % _SHORT_BUCKETS).astype(np.int64)


def tokens(text: str, longest: int = LONGEST) -> list[str]:
    text = unicodedata.normalize("NFKC", text[:longest].replace("’", "'"))
    return _TOKEN.findall(text.casefold().encode("utf-8", "replace").decode())


def _shapes(words: list[str]) -> Iterator[str]:
    known = frequent()
    shape = [_BEGIN]
    for word in words:
        name = word if word in known else _NUMBER if word.isdigit() else _OPEN
        # how many words stand between does not matter
        if name != _OPEN or shape[-1] != _OPEN:
            shape.append(name)
    shape.append(_END)
    for size in _SHAPES:
        for start in range(len(shape) - size + 1):
            yield "\t".join(shape[start : start + size])
    for place, name in enumerate(shape[1 : 1 + _FIRST]):
        yield f"{place}\t{name}"
    closed = [name for name in shape if name != _OPEN]
    for distance in (1, 2):
        yield from map("\t\t".join, zip(closed, closed[distance:], strict=False))


def _runs(letters: NDArray[np.uint32], sizes: Sequence[int]) -> Iterator[NDArray[np.uint32]]:
    for run in sizes:
        if (many := len(letters) - run + 1) > 0:
            hashed = np.full(many, run, dtype=np.uint32)
            for place in range(run):
                hashed = (hashed ^ letters[place : place + many]) * _PLACES[place]
            yield hashed ^ (hashed >> np.uint32(15))


@cache
def frequent() -> frozenset[str]:
    """The words that make the shape of a text."""
    path = files(__package__).joinpath("weights", FREQUENT)
    return frozenset(path.read_text("utf-8").split()) if path.is_file() else frozenset()
