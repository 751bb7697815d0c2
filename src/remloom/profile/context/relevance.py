"""Relevance: which slots and values a query is about, by its words and, with an embedder, by
meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ...deadline import NEVER, Deadline
from ...embed.answers import answered_by, question_vector, text_vectors
from ...errors import EmbedderError
from ...heads.differences import content_words
from ...heads.features import frequent
from ...text.analysis import terms
from ..evidence.claim import Value
from ..slots.slot import Slot

if TYPE_CHECKING:
    from ...embed.contract import Embedder, Floats


# score of what a query names: the slot, a value of it, a topic that it helps with
_NAME = 3.0
_VALUE = 2.0
_TOPIC = 1.0
_PART = 1.0  # of a value
NAMED = _VALUE  # from here on a query names the slot or a value, not only a topic
_MEANING = 2.0  # of a cosine of 1
# below this a likeness says nothing; of 889 slots that a hundred requests were not about, two were
# above it
_LEAST_COSINE = 0.35
_MOST_SENTENCES = 12  # of who the user is that are given: those nearest to the request
_HARDLY = 0.05  # score of what the user said and is not near
_LEAST_SIMILARITY = 0.1  # of a value in a slot; what is farther is not given
_LONGEST_QUERY = 4000  # characters that are looked at, from either end
_LONGEST_VALUE = 300
_FEW = 3  # terms of a value that is named by any of them

# what a name or a topic needs to be named by a query, and its score
_Phrase: TypeAlias = tuple[frozenset[str], float]


class Relevance:
    """How far slots and values are what a query is about: by its words, by its cosine to each
    slot (see `similarities`), and by how near it is to sentences of who the user is (see
    `nearness`)."""

    def __init__(
        self,
        query: str,
        similar: Mapping[str, float] | None = None,
        similarities: Mapping[str, float] | None = None,
    ) -> None:
        if len(query) > 2 * _LONGEST_QUERY:
            query = f"{query[:_LONGEST_QUERY]} {query[-_LONGEST_QUERY:]}"
        self._query = query
        self._terms = frozenset(terms(query))
        self._similar = similar or {}
        self._similarities = similarities or {}
        self._of_slots: dict[str, float] = {}

    def by_words(self, slot: Slot, value: Value) -> float:
        """How far the words of the query name a slot, its topics, or a value; 0: they do not."""
        return self._of_slot(slot) + self._of_value(slot, value)

    def score(self, slot: Slot, value: Value) -> float:
        """How far the query is about a value in a slot, from 0."""
        whole = slot.verbatim and not slot.sensitive
        named = self._of_slot(slot) if whole else self.by_words(slot, value)
        if has_nearness(slot):
            similarity = self._similarities.get(sentence_of(slot, value), 0.0)
            return named + _MEANING * (
                similarity if slot.verbatim or similarity >= _LEAST_SIMILARITY else 0.0
            )
        cosine = self._similar.get(slot.id, 0.0)
        return named + (_MEANING * cosine if cosine >= _LEAST_COSINE else 0.0)

    def _of_slot(self, slot: Slot) -> float:
        if slot.id not in self._of_slots:
            self._of_slots[slot.id] = self._named(
                _phrases(slot.id, slot.label, slot.aliases, slot.topics)
            )
        return self._of_slots[slot.id]

    def _named(self, phrases: Iterable[_Phrase]) -> float:
        found = [score for needed, score in phrases if needed <= self._terms]
        # several topics say more than one, but less than a name
        return max(found, default=0.0) + 0.1 * min(len(found), 5)

    def _of_value(self, slot: Slot, value: Value) -> float:
        if not self._terms or isinstance(value, bool | int | float):
            return 0.0
        written = str(value)[:_LONGEST_VALUE]
        synonyms = [one for one, canonical in slot.synonyms.items() if canonical == value]
        words = _terms_of(written)
        named = (words, *map(_terms_of, synonyms))
        if any(one and one <= self._terms for one in named):
            return _VALUE
        if slot.verbatim and slot.sensitive:
            # nothing else gives it: one word that few texts have is enough
            shared = rare_words(self._query).keys() & rare_words(written).keys()
            return _VALUE if shared else 0.0
        is_part = len(words) <= _FEW and not words.isdisjoint(self._terms)
        return _PART if is_part else 0.0


def query_vector(query: str, embedder: Embedder, deadline: Deadline = NEVER) -> Floats:
    """The vector of a query; EmbedderError if the embedder fails, or not by the deadline."""
    text = query[:_LONGEST_QUERY]
    return answered_by(embedder, partial(question_vector, embedder, text), deadline)


def similarities(
    slots: Sequence[Slot], query: Floats, embedder: Embedder, deadline: Deadline = NEVER
) -> dict[str, float]:
    """The cosine of a query's vector to each slot, by id; slots are embedded once in a process.
    EmbedderError if the embedder fails, or not by the deadline."""
    vectors = _cards_embedded(embedder, slots, len(query), deadline)
    return {slot.id: float(vectors[_card(slot)] @ query) for slot in slots}


def has_nearness(slot: Slot) -> bool:
    """Whether what is nearest to a query is given of it, and not what is near enough."""
    return slot.is_personal and not slot.sensitive and slot.usage != "behaviour"


def sentence_of(slot: Slot, value: Value) -> str:
    """What is known, as a sentence that a query is compared with."""
    return str(value) if slot.verbatim else f"{slot.label}: {value}"


def shares(query: str, sentences: Sequence[str]) -> dict[str, float]:
    """The share of the terms of a query that each sentence has: where there is no embedder."""
    query_terms = frozenset(terms(query[:_LONGEST_QUERY]))
    return {
        text: len(query_terms & _terms_of(text)) / max(len(query_terms), 1) for text in sentences
    }


def nearness(sentences: Sequence[str], likenesses: Mapping[str, float]) -> dict[str, float]:
    """How near a query is to the sentences nearest to it, from 0 to 1; of equal likenesses, to
    those that come first."""
    nearest = sorted(sentences, key=lambda text: -likenesses.get(text, 0.0))[:_MOST_SENTENCES]
    return {text: max(likenesses.get(text, 0.0), _HARDLY) for text in nearest}


def _card(slot: Slot) -> str:
    topics = ", ".join(slot.topics)
    return " ".join(filter(None, (f"{slot.label}.", slot.question, topics)))


# vectors of cards, by the embedder's name and dimensions
_embedded: dict[tuple[str, int], dict[str, Any]] = {}


def _cards_embedded(
    embedder: Embedder, slots: Sequence[Slot], dims: int, deadline: Deadline
) -> dict[str, Any]:
    # without a lock: who asks at the same time, of another tenant perhaps, waits for nobody
    name = embedder.name
    known = _embedded.setdefault((name, dims), {})
    missing = [card for card in dict.fromkeys(map(_card, slots)) if card not in known]
    if missing:
        rows = answered_by(embedder, partial(text_vectors, embedder, missing), deadline)
        if rows.shape[1] != dims:
            raise EmbedderError(f"{name} answered vectors of {dims} and {rows.shape[1]} dimensions")
        known.update(zip(missing, rows, strict=True))
    return known


def rare_words(text: str) -> dict[str, str]:
    """The words of a text that few texts have, by their stems."""
    known = frequent()
    return {stem: word for stem, word in content_words(text).items() if word not in known}


@lru_cache(maxsize=4096)
def _phrases(
    id: str, label: str, aliases: tuple[str, ...], topics: tuple[str, ...]
) -> tuple[_Phrase, ...]:
    end = id.rpartition(".")[2].replace("_", " ")
    # "default" says nothing by itself, nor does "mode"
    named = [label, *aliases, *([end] if " " in end else [])]
    scores = {
        frozenset(terms(words)): score
        for score, texts in ((_TOPIC, topics), (_NAME, named))
        for words in texts
    }
    scores.pop(frozenset(), None)
    return tuple(scores.items())


@lru_cache(maxsize=16_384)
def _terms_of(text: str) -> frozenset[str]:
    return frozenset(terms(text))
