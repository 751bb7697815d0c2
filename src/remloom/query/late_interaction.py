"""Late interaction: how well records fit a text, token by token (MaxSim).

A record is worth the mean, over the tokens of the text, of the nearest token in it. Only records
that something else has found are looked at: there is no index of token vectors to search.

Source: Khattab and Zaharia 2020, ColBERT.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from ..embed.contract import TokenEncoder
from ..embed.failures import answered_by, ask
from ..embed.products import products
from ..errors import EmbedderError, VectorError
from ..store.contract import Store
from ..text.language import is_english

if TYPE_CHECKING:
    from ..embed.contract import Floats

__all__ = [
    "LateInteraction",
    "TokenQuestion",
    "max_similarities",
    "proposed_by_each",
    "with_missing",
]

_PROPOSED = 100  # records that words and vectors each propose to a search, at least
_ENCODED_FIRST = 64  # texts that a search encodes first rather than answer without them
_MOST_ENCODED = 100_000  # characters of them all
_READ_AT_ONCE = 64  # records: the token vectors of a long text are a megabyte
_DEEP = 3  # times the limit, if that is more
_LARGEST_TABLE = 2_000_000  # products that are kept at the same time, unless one text has more
_SCALE = 127.0  # of a component of 1, as a byte


class TokenQuestion(NamedTuple):
    """A text to be compared token by token."""

    text: str
    vectors: Callable[[], Floats]  # of its tokens; raises as `LateInteraction.scores`
    is_begun: bool  # whether they are being made


class LateInteraction:
    """Scores the records of a store by their token vectors.

    Args:
        encoder: makes the vectors of a question.
        encode: makes and stores the token vectors of records that lack them.
        is_asked_for: whether somebody chose the encoder; else its failure is no error of a recall.
        seconds: that the vectors of a question may take; None: as long as they take.
    """

    def __init__(
        self,
        store: Store,
        encoder: TokenEncoder,
        encode: Callable[[Sequence[str]], None] | None = None,
        *,
        is_asked_for: bool = True,
        seconds: float | None = None,
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._encode = encode
        self._seconds = seconds
        self._fits = False  # whether the dimensions of what is stored are the encoder's
        self.is_asked_for = is_asked_for

    @property
    def model(self) -> str:
        """The name of the token encoder."""
        return self._encoder.name

    def knows_language_of(self, text: str) -> bool:
        """Whether the encoder may know the language of a text; this tells only English from the
        others."""
        languages = getattr(self._encoder, "languages", ())
        return set(languages) != {"en"} or is_english(text)

    def question(self, text: str) -> TokenQuestion:
        """Return a question whose token vectors are made once: beside the caller from now on, where
        there are some to compare them with."""
        encoder, seconds = self._encoder, self._seconds

        def work() -> Floats:
            return self._checked(encoder.encode_query(text))

        is_begun = any(name == self.model for name, _ in self._store.token_vectors.models())
        if is_begun:
            answer = ask(encoder.name, work, seconds)
        else:
            answer = partial(answered_by, encoder.name, work, seconds)
        return TokenQuestion(text, cache(answer), is_begun)

    def scores(self, question: TokenQuestion, ids: Sequence[str]) -> dict[str, float]:
        """How well each of these records fits a text, -1..1; -1 for one without tokens.

        Those whose token vectors are not made yet are left out.

        Raises:
            EmbedderError: the encoder cannot be loaded, does not work, or takes too long.
        """
        found: dict[str, float] = {}
        for first in range(0, len(ids), _READ_AT_ONCE):
            some = ids[first : first + _READ_AT_ONCE]
            stored = self._store.token_vectors.of(some, model=self._encoder.name)
            if stored:
                self._check_dims()
                found |= max_similarities(question.vectors(), stored)
        return found

    def make(self, ids: Sequence[str]) -> None:
        """Make the token vectors of these records, where few of them lack theirs.

        Raises:
            EmbedderError: the encoder cannot be loaded, or does not work.
        """
        if self._encode is None or not self._store.capabilities.writable:
            return
        waiting = self._store.token_vectors.pending(self.model, _ENCODED_FIRST + 1, ids=ids)
        length = sum(len(item.text) for item in waiting)
        if 0 < len(waiting) <= _ENCODED_FIRST and length <= _MOST_ENCODED:
            self._encode([item.id for item in waiting])

    def waiting(self) -> int:
        """How many texts wait for their token vectors."""
        return sum(self._store.token_vectors.queue_lengths(self._encoder.name))

    def _check_dims(self) -> None:
        """Refuse to compare what was made under the encoder's name with other dimensions: rows of
        twice the length would be taken for twice as many tokens."""
        if self._fits:
            return
        dims = dict(self._store.token_vectors.models()).get(self.model, self._encoder.dims)
        if dims != self._encoder.dims:
            raise _other_dims(self._encoder.dims)
        self._fits = True

    def _checked(self, answered: Floats) -> Floats:
        import numpy as np

        encoder = self._encoder
        made: Floats = np.asarray(answered, np.float32)
        if made.ndim != 2 or not len(made) or made.shape[1] != encoder.dims:
            raise EmbedderError(
                f"{encoder.name} answered {made.shape} for a question, not rows of {encoder.dims}",
                remedy="check the token encoder",
            )
        if not np.isfinite(made).all():
            raise VectorError(f"{encoder.name} answered a vector with NaN or infinity")
        return made


def max_similarities(question: Floats, texts: Mapping[str, bytes]) -> dict[str, float]:
    """How well texts fit a question, by their ids: -1..1, and -1 for one without tokens.

    Args:
        question: the vectors of its tokens: float32, shape (tokens, dims).
        texts: those of each text: int8, row by row, 127 for 1.

    Raises:
        EmbedderError: token vectors are not of the question's dimensions.
    """
    import numpy as np

    dims = question.shape[1]
    if any(len(vectors) % dims for vectors in texts.values()):
        raise _other_dims(dims)
    scores = dict.fromkeys(texts, -1.0)
    ids = [id for id, vectors in texts.items() if vectors]
    if not ids:
        return scores
    most = max(1, _LARGEST_TABLE // len(question))
    for some in _groups({id: len(texts[id]) // dims for id in ids}, most):
        rows = np.frombuffer(b"".join(texts[id] for id in some), np.int8).reshape(-1, dims)
        lengths = [len(texts[id]) // dims for id in some]
        starts = np.cumsum([0, *lengths[:-1]])
        near = products(rows, question)
        fits = np.maximum.reduceat(near, starts, axis=0).mean(axis=1) / _SCALE
        # bytes are rounded: the same text is a little more than 1
        scores.update(zip(some, np.clip(fits, -1.0, 1.0).tolist(), strict=True))
    return scores


def _other_dims(dims: int) -> EmbedderError:
    return EmbedderError(
        f"token vectors were made with other than {dims} dimensions",
        remedy="give the token encoder another name when its dimensions change",
    )


def _groups(lengths: Mapping[str, int], most: int) -> Iterator[list[str]]:
    """Divide texts into groups with at most so many tokens; a longer one is alone."""
    group: list[str] = []
    total = 0
    for id, length in lengths.items():
        if group and total + length > most:
            yield group
            group, total = [], 0
        group.append(id)
        total += length
    yield group


def proposed_by_each(limit: int) -> int:
    """How many records words and vectors each propose to a search for this many."""
    return max(_PROPOSED, _DEEP * limit)


def with_missing(
    scores: Mapping[str, float], ids: Sequence[str], worths: Mapping[str, float]
) -> dict[str, float]:
    """Add to the scores of late interaction those of records whose token vectors are not made yet.

    Each has the place among the others that it has by its vector, so that nobody falls behind, or
    leads, for that.

    Args:
        scores: of the others; if there are none, nothing is added.
        ids: of all.
        worths: by what the vectors say; who has none is worth 0.
    """
    made = [id for id, score in scores.items() if score > -1]
    if not made:
        return dict(scores)
    by_tokens = sorted(scores[id] for id in made)
    by_vector = sorted(worths.get(id, 0.0) for id in made)
    found = dict(scores)
    for id in ids:
        if id not in scores:
            place = bisect_left(by_vector, worths.get(id, 0.0))
            found[id] = by_tokens[min(place, len(made) - 1)]
    return found
