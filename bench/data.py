"""Synthetic data of realistic shape: Zipf text, clustered vectors, names with typos, a power-law
graph.

Everything follows from a seed, so two runs measure the same work. Uniform random data would flatter
or defeat the indexes: word frequencies decide BM25's cost, clusters HNSW's recall, hubs a walk's.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_STOP = tuple(
    "the of and to in a is that for it was on as with be by at this from are or an not have which"
    " but were his they all their there been has will more when who we her can so if no what up its"
    " about into than them other".split()
)
_ONSETS = tuple(
    "b br c ch cl d dr f fl g gr h j k l m n p pl pr qu r s sh st t th tr v w z".split()
)
_VOWELS = tuple("a e i o u a e i o u ai ea ee".split())
_CODAS = ("", "", "", "", "", "n", "r", "s", "l", "t", "m", "nd", "ck", "st")


def _word(rng: np.random.Generator, syllables: int) -> str:
    parts = []
    for _ in range(syllables):
        parts += [
            _ONSETS[rng.integers(len(_ONSETS))],
            _VOWELS[rng.integers(len(_VOWELS))],
            _CODAS[rng.integers(len(_CODAS))],
        ]
    return "".join(parts)


@cache
def vocabulary(size: int = 60_000, seed: int = 1) -> tuple[str, ...]:
    """Distinct words, most frequent first; the first are English stop words."""
    rng = np.random.default_rng(seed)
    words = dict.fromkeys(_STOP)
    while len(words) < size:
        longest = 3 if len(words) < 3_000 else 4  # frequent words are short
        words[_word(rng, int(rng.integers(1, longest)))] = None
    return tuple(words)


@cache
def _zipf(size: int, exponent: float = 1.05, shift: float = 2.7) -> NDArray[np.float64]:
    """Cumulative Zipf-Mandelbrot distribution over ranks."""
    weights = 1 / (np.arange(size) + shift) ** exponent
    return np.cumsum(weights / weights.sum())


def texts(count: int, *, words: int = 150, seed: int = 2, block: int = 1000) -> Iterator[str]:
    """Texts of about `words` words (some 900 characters), in sentences of fifteen."""
    lexicon, cumulative = np.array(vocabulary(), dtype=object), _zipf(len(vocabulary()))
    for start in range(0, count, block):
        rng = np.random.default_rng((seed, start))
        lengths = np.maximum(20, rng.normal(words, words / 5, block).astype(int))
        drawn = lexicon[np.searchsorted(cumulative, rng.random(lengths.sum()))].tolist()
        ends = np.cumsum(lengths)
        for first, end in zip(
            (ends - lengths).tolist()[: count - start], ends.tolist(), strict=False
        ):
            yield " ".join(
                " ".join(drawn[at : min(at + 15, end)]) + "." for at in range(first, end, 15)
            )


def questions(count: int, corpus: list[str], *, words: int = 3, seed: int = 3) -> list[str]:
    """Natural questions: words of a text, drawn as often as they occur, without stop words."""
    rng, stop = np.random.default_rng(seed), set(_STOP)
    found: list[str] = []
    while len(found) < count:
        text = corpus[rng.integers(len(corpus))]
        content = [word for word in text.replace(".", "").split() if word not in stop]
        found.append(" ".join(rng.choice(content, words, replace=False)))
    return found


def vectors(
    count: int, *, dims: int = 384, seed: int = 4, start: int = 0, total: int = 100_000
) -> Floats:
    """Unit vectors in clusters of unequal size, as text embeddings are; number `start` onwards.

    Each is a centre plus noise of 0.8 of its length in a random 64-dimensional subspace of the
    cluster's own, so that neighbours within a cluster differ gradually.
    """
    clusters = max(8, total // 200)
    head = np.random.default_rng((seed, 0))
    centres = head.standard_normal((clusters, dims)).astype(np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    basis = head.standard_normal((64, dims)).astype(np.float32) / np.sqrt(dims, dtype=np.float32)
    cumulative = _zipf(clusters, 0.8)
    out = np.empty((count, dims), np.float32)
    for at in range(0, count, 1000):
        block = min(1000, count - at)
        rng = np.random.default_rng((seed, 1, start + at))
        member = np.searchsorted(cumulative, rng.random(block))
        noise = rng.standard_normal((block, 64)).astype(np.float32) @ basis
        noise *= 0.8 / np.linalg.norm(noise, axis=1, keepdims=True)
        out[at : at + block] = centres[member] + noise
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    return out


@cache
def names(count: int, *, seed: int = 5) -> tuple[str, ...]:
    """Distinct names of two or three words ("Breantol Chea")."""
    rng = np.random.default_rng(seed)
    parts = [
        _word(rng, int(rng.integers(1, 4))).capitalize() for _ in range(max(2_000, count // 20))
    ]
    found: dict[str, None] = {}
    while len(found) < count:
        need = count - len(found)
        size = rng.choice([2, 2, 2, 3], need)
        pick = rng.integers(0, len(parts), (need, 3))
        for how_many, row in zip(size, pick, strict=True):
            found[" ".join(parts[i] for i in row[:how_many])] = None
    return tuple(found)


def typo(name: str, edits: int, rng: np.random.Generator) -> str:
    """The name with letters left out, doubled, replaced or swapped; its first letter stays."""
    letters = list(name)
    for _ in range(edits):
        at, kind = int(rng.integers(1, len(letters) - 1)), int(rng.integers(4))
        if kind == 0:
            del letters[at]
        elif kind == 1:
            letters.insert(at, letters[at])
        elif kind == 2:
            letters[at] = "etaoinshrdlu"[rng.integers(12)]
        else:
            letters[at], letters[at - 1] = letters[at - 1], letters[at]
    return "".join(letters)


def graph(nodes: int, edges: int, *, seed: int = 6) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct directed edges of a power-law graph, oldest first: sources and destinations by
    number."""
    rng = np.random.default_rng(seed)
    weights = 1 / (np.arange(nodes) + 10.0) ** 0.8
    cumulative = np.cumsum(weights / weights.sum())
    order = rng.permutation(nodes)  # hubs anywhere in the numbering
    seen = np.empty(0, np.int64)
    while len(seen) < edges:
        ends = order[np.minimum(np.searchsorted(cumulative, rng.random((2, edges))), nodes - 1)]
        codes = (ends[0] * nodes + ends[1])[ends[0] != ends[1]]
        both = np.concatenate([seen, codes])
        _, first = np.unique(both, return_index=True)
        seen = both[np.sort(first)]
    seen = seen[:edges]
    return seen // nodes, seen % nodes


def hubs(count: int, sources: NDArray[np.int64], *, seed: int = 7) -> NDArray[np.int64]:
    """Start nodes drawn in proportion to their outgoing edges."""
    return np.random.default_rng(seed).choice(sources, count)
