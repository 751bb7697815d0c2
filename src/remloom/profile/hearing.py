"""Hearing: what people say of themselves, by rule, and in their own words, which heads hear.

A sentence that says something lasting is kept as it was said, under what it is: a like, a dislike,
a fact, a wish for answers; or with the allergies, or what is known of health, if it is that. What
may be one by its words is looked at again by its meaning, where there is an embedder.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec.structs import replace

from ..errors import EmbedderError
from ..heads.features import features
from ..heads.head import Decision, head
from ..text.sentences import marked_ends
from .claim import Claim
from .passages import Passage
from .rule_extraction import RULES, extract_by_rules
from .rules.passage import HIDDEN, own_words
from .scan import Extracted, Found
from .values import MAX_VALUE_LENGTH

if TYPE_CHECKING:
    from ..embed.contract import Floats
    from ..heads.features import Features

__all__ = ["HEADS", "Hearing"]

HEADS = "heads"  # the name of this extractor

# where a sentence of each kind is kept
_SLOTS = {
    "like": "own_words.likes",
    "dislike": "own_words.dislikes",
    "fact": "own_words.facts",
    "style": "own_words.answers",
    "allergy": "food_and_dining.restrictions.allergies",
    "condition": "identity.health",
    "medication": "identity.health",
}
_PERMITS = 0.15  # probability from which on a wish for answers may permit something
# of a whole text: nothing in it is the speaker's own
_FOREIGN = ("quoted", "code", "supposed")
_LASTING = 0.5  # probability from which on a sentence says something lasting
_MAYBE = 0.3  # from which on it is looked at again; that the text around it has to have
_SHORTEST = 3  # letters
_LONGEST = 4_000  # characters of a text; a longer one is material, and nobody's own words

# where something stands in a text, in characters
Span: TypeAlias = tuple[int, int]
# the vectors of texts, by text
Embed: TypeAlias = Callable[[Sequence[str]], Mapping[str, "Floats"]]


class _Candidate(NamedTuple):
    """A sentence that may say something lasting."""

    passage: Passage
    span: Span
    words: str
    seen: Features

    def claim(self, kind: str) -> Claim:
        """What it says of the speaker."""
        said = self.passage.record.content[slice(*self.span)]
        return Claim(key=_SLOTS[kind], value=said, quote=said, span=self.span)


class Hearing:
    """Finds what speakers say of themselves that will last.

    Args:
        embed: the vectors of sentences; None: they are judged by their words alone.
        embedder: the name of what makes them.
    """

    def __init__(self, embed: Embed | None = None, embedder: str = "") -> None:
        self._statement = head("statement", embedder if embed is not None else "")
        self._kind = head("kind", embedder if embed is not None else "")
        # an embedder that the heads were not trained with is asked for nothing
        self._embed = embed if self._statement.sees_vectors else None

    def __call__(self, passages: Sequence[Passage]) -> Extracted:
        """Find what is said in passages: by rule, and where no rule finds it by ear."""
        ruled = extract_by_rules(passages).found
        known: defaultdict[str, list[Span]] = defaultdict(list)
        for found in ruled:
            known[found.passage.record.id].append(found.claim.span)
        candidates = [
            candidate
            for passage in passages
            if not passage.is_behaviour
            for candidate in _candidates(passage, known[passage.record.id])
        ]
        by_rule = (replace(found, extractor=RULES) for found in ruled)
        return Extracted((*by_rule, *self._judge(candidates)))

    def _judge(self, candidates: Sequence[_Candidate]) -> Iterator[Found]:
        """The claims of those that say something lasting."""
        vectors: Mapping[str, Floats] = {}
        if self._embed is not None and candidates:
            # where the embedder does not work, words have to do
            with suppress(EmbedderError):
                vectors = self._embed([candidate.words for candidate in candidates])
        for candidate in candidates:
            vector = vectors.get(candidate.words)
            says = self._statement.decide_by(candidate.seen, vector)
            if says.probabilities["lasting"] >= _LASTING:
                kind = self._kind.decide_by(candidate.seen, vector)
                if not _permits(kind):
                    yield Found(candidate.passage, candidate.claim(kind.label))


def _candidates(passage: Passage, known: Sequence[Span]) -> Iterator[_Candidate]:
    """The sentences of a passage that may say something lasting, by its words.

    Args:
        known: places of which rules tell what they say.
    """
    if len(passage.record.content) > _LONGEST:
        return
    own = own_words(passage.record.content)
    statement = head("statement")
    seen = features(own.replace(HIDDEN, " "))
    whole = statement.decide_by(seen)
    if whole.label in _FOREIGN or whole.probabilities["lasting"] < _MAYBE:
        return
    sentences = [span for span in _sentences(own) if not _overlaps(span, known)]
    for span in sentences:
        words = own[slice(*span)]
        if words != own:
            seen = features(words)
        if statement.decide_by(seen).probabilities["lasting"] >= _MAYBE:
            yield _Candidate(passage, span, words, seen)


def _sentences(own: str) -> Iterator[Span]:
    """Where sentences are that are the speaker's own, and short enough to be kept."""
    start = 0
    for end in dict.fromkeys((*marked_ends(own), len(own))):
        span = _trimmed(own, start, end)
        start = end
        if span and HIDDEN not in own[slice(*span)] and span[1] - span[0] <= MAX_VALUE_LENGTH:
            yield span


def _trimmed(text: str, start: int, end: int) -> Span | None:
    """A place without the blanks around it; None if there are hardly any letters."""
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    end -= len(part) - len(part.rstrip())
    if sum(map(str.isalpha, text[start:end])) < _SHORTEST:
        return None
    return start, end


def _permits(kind: Decision) -> bool:
    """Whether a sentence may say what agents may do: that is set by hand alone, however it is
    worded."""
    if kind.label == "style":
        return kind.probabilities["permission"] >= _PERMITS
    return kind.label == "permission"


def _overlaps(span: Span, others: Iterable[Span]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)
