"""Late interaction: how well records fit a text, token by token (MaxSim).

A record is worth the mean, over the tokens of the text, of the nearest token in it. Only records
that something else has found are looked at: there is no index of token vectors to search.

Source: Khattab and Zaharia 2020, ColBERT.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ..deadline import NEVER, Deadline
from ..embed.answers import ask, question_tokens
from ..embed.bundled.transformer import products
from ..embed.contract import TokenEncoder
from ..errors import EmbedderError, StoreError
from ..store.contract import Store
from ..text.language import is_english

if TYPE_CHECKING:
    from ..embed.contract import Floats


_log = logging.getLogger(__name__)

_PROPOSED = 100  # records that words and vectors each propose to a search, at least
_ENCODED_FIRST = 64  # texts that a search encodes first rather than answer without them
_MOST_ENCODED = 100_000  # characters of them all
_READ_AT_ONCE = 64  # records: the token vectors of a long text are a megabyte
_DEEP = 3  # times the limit, if that is more
# Tokens whose products are kept at the same time, unless one text has more. The system gives and
# takes back the memory of a larger table each time.
_TOKENS_AT_ONCE = 1_000
_SCALE = 127.0  # of a component of 1, as a byte


class TokenQuestion(NamedTuple):
    """A text to be compared token by token."""

    text: str
    vectors: Callable[[], Floats]  # of its tokens; raises as `LateInteraction.scores`
    is_begun: bool  # whether they are being made
    deadline: Deadline  # by which they are to be there


# begins to make the token vectors of a question; what is returned waits for them
BeginTokens = Callable[[str, Deadline], Callable[[], "Floats"]]


class LateInteraction:
    """Scores the records of a store by their token vectors.

    Args:
        encoder: makes the vectors of a question.
        encode: makes and stores the token vectors of records that lack them.
        is_requested: whether somebody chose the encoder; else its failure does not fail a recall.
        begin: asks the encoder, where a question is asked of several stores; default: by itself.
    """

    def __init__(
        self,
        store: Store,
        encoder: TokenEncoder,
        encode: Callable[[Sequence[str], Deadline], None] | None = None,
        *,
        is_requested: bool = True,
        begin: BeginTokens | None = None,
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._encode = encode
        self._begin_setting = begin
        self._damaged: set[str] = set()  # ids, that were come across and are still there
        self.is_requested = is_requested

    @property
    def model(self) -> str:
        return self._encoder.name

    def knows_language_of(self, text: str) -> bool:
        """Whether the encoder may know the language of a text; this tells only English from the
        others."""
        languages = getattr(self._encoder, "languages", ())
        return set(languages) != {"en"} or is_english(text)

    def question(self, text: str, deadline: Deadline = NEVER) -> TokenQuestion:
        """Return a question whose token vectors are made once: beside the caller from now on, where
        there are some to compare them with."""
        is_begun = self._stored_dims() is not None
        if is_begun:
            vectors = self._begin(text, deadline)
        else:

            def vectors() -> Floats:
                return self._begin(text, deadline)()

        return TokenQuestion(text, cache(vectors), is_begun, deadline)

    def scores(self, question: TokenQuestion, ids: Sequence[str]) -> dict[str, float]:
        """How well each of these records fits a text, -1..1; -1 for one without tokens.

        Those whose token vectors are not made yet, or are damaged, are left out.

        Raises:
            EmbedderError: the encoder cannot be loaded, does not work, or takes too long; or the
                token vectors that are stored under its name have other dimensions.
        """
        if not ids or (not question.is_begun and self._stored_dims() is None):
            return {}
        question_vectors = question.vectors()
        dims = question_vectors.shape[1]
        found: dict[str, float] = {}
        with self._store.snapshot():
            # rows of twice the length would be taken for twice as many tokens
            if self._stored_dims() not in (None, dims):
                raise EmbedderError(
                    f"token vectors were made with other than {dims} dimensions",
                    remedy="give the token encoder another name when its dimensions change",
                )
            for first in range(0, len(ids), _READ_AT_ONCE):
                some = ids[first : first + _READ_AT_ONCE]
                stored = self._store.token_vectors.of(some, model=self.model)
                found |= max_similarities(question_vectors, stored)
                self._note_damaged(stored.keys() - found.keys())
        return found

    def scores_beside(self, id: str, ids: Sequence[str]) -> dict[str, float]:
        """How well each of these records fits another, by the stored token vectors: nothing
        is encoded. Empty where that has none."""
        import numpy as np

        dims = self._stored_dims()
        stored = self._store.token_vectors.of([id, *ids], model=self.model) if dims else {}
        own = stored.pop(id, b"")
        if not own or dims is None or len(own) % dims:
            return {}
        tokens = np.frombuffer(own, np.int8).reshape(-1, dims).astype(np.float32) / _SCALE
        return max_similarities(tokens, stored)

    def make(self, ids: Sequence[str], deadline: Deadline = NEVER) -> None:
        """Make the token vectors of these records, where few of them lack theirs.

        Raises:
            EmbedderError: the encoder cannot be loaded, does not work, or takes too long.
        """
        if self._encode is None or not self._store.capabilities.writable:
            return
        waiting = self._store.token_vectors.pending(self.model, _ENCODED_FIRST + 1, ids=ids)
        length = sum(len(item.text) for item in waiting)
        if 0 < len(waiting) <= _ENCODED_FIRST and length <= _MOST_ENCODED:
            self._encode([item.id for item in waiting], deadline)

    def repair(self) -> None:
        """Discard the token vectors that were found damaged, so that they are made again. Not while
        a snapshot lasts; what cannot be written now is left for the next time."""
        damaged, model = self._damaged, self.model
        if not damaged or self._encode is None or not self._store.capabilities.writable:
            return
        self._damaged = set()
        with suppress(StoreError):
            self._store.token_vectors.discard_damaged(model, ids=list(damaged))

    def _note_damaged(self, ids: Collection[str]) -> None:
        new = set(ids) - self._damaged
        if new:
            self._damaged |= new
            _log.warning(
                "damaged token vectors are left out until they are made again, which "
                "`remloom reembed` does at once: those of %s",
                ", ".join(sorted(new)),
            )

    def waiting(self) -> int:
        """How many texts wait for their token vectors."""
        return sum(self._store.token_vectors.queue_lengths(self._encoder.name))

    def _begin(self, text: str, deadline: Deadline) -> Callable[[], Floats]:
        if self._begin_setting is not None:
            return self._begin_setting(text, deadline)
        encoder = self._encoder
        return ask(encoder, lambda: question_tokens(encoder, text), deadline)

    def _stored_dims(self) -> int | None:
        """The dimensions of what is stored under the encoder's name; None: nothing is. Another
        process may change them."""
        return dict(self._store.token_vectors.models()).get(self.model)


def max_similarities(question: Floats, texts: Mapping[str, bytes]) -> dict[str, float]:
    """How well texts fit a question, by their ids: -1..1, and -1 for one without tokens.

    Args:
        question: the vectors of its tokens: float32, shape (tokens, dims).
        texts: those of each text: int8, row by row, 127 for 1. One with another number of bytes
            than whole rows have is left out.
    """
    import numpy as np

    dims = question.shape[1]
    scores = {id: -1.0 for id, vectors in texts.items() if not len(vectors) % dims}
    ids = [id for id in scores if texts[id]]
    if not ids:
        return scores
    for some in _groups({id: len(texts[id]) // dims for id in ids}, _TOKENS_AT_ONCE):
        rows = np.frombuffer(b"".join(texts[id] for id in some), np.int8).reshape(-1, dims)
        lengths = [len(texts[id]) // dims for id in some]
        starts = np.cumsum([0, *lengths[:-1]])
        similarities = products(rows, question)
        fits = np.maximum.reduceat(similarities, starts, axis=0).mean(axis=1) / _SCALE
        # bytes are rounded: the same text is a little more than 1
        scores.update(zip(some, np.clip(fits, -1.0, 1.0).tolist(), strict=True))
    return scores


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
    scores: Mapping[str, float], ids: Sequence[str], scores_by_vector: Mapping[str, float]
) -> dict[str, float]:
    """Add to the scores of late interaction those of records whose token vectors are not made yet.

    Each has the place among the others that it has by its vector, so that nobody falls behind, or
    leads, for that.

    Args:
        scores: of the others; if there are none, nothing is added.
        ids: of all.
        scores_by_vector: by what the vectors say; who has none is worth 0.
    """
    missing = [id for id in ids if id not in scores]
    made = [id for id, score in scores.items() if score > -1]
    if not missing or not made:
        return dict(scores)
    by_tokens = sorted(scores[id] for id in made)
    by_vector = sorted(scores_by_vector.get(id, 0.0) for id in made)
    found = dict(scores)
    for id in missing:
        position = bisect_left(by_vector, scores_by_vector.get(id, 0.0))
        found[id] = by_tokens[min(position, len(made) - 1)]
    return found
