"""Hearing: what people say of themselves, by rule, and in their own words, which heads hear.

A sentence that says something lasting is kept as it was said, under what it is: a like, a dislike,
a fact, a wish for answers; with the allergies, or what is known of health, if it is that; or as
sensitive, if it is nobody else's business, such as faith or debts. What may be one by its words is
looked at again by its meaning, where there is an embedder. Texts in a language that the heads were
not trained in are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec.structs import replace

from ...errors import EmbedderError
from ...heads.differences import content_words
from ...heads.features import features
from ...heads.head import LASTING_BY_WORDS, Decision, head, unheard_language
from ...text.sentences import marked_ends
from ..evidence.claim import Claim
from ..evidence.passages import Passage
from ..slots.registry import registry
from ..slots.values import MAX_VALUE_LENGTH
from .rule_extraction import RULES, extract_by_rules
from .rules.clauses import clauses
from .rules.lexicon import item_spans
from .rules.passage import HIDDEN, own_words
from .scan import Extracted, FoundClaim

if TYPE_CHECKING:
    from ...embed.contract import Floats
    from ...heads.features import Features


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
_MAY_BE_SENSITIVE = ("own_words.likes", "own_words.dislikes", "own_words.facts")
_SENSITIVE = "own_words.sensitive"
# probabilities from which on it is nobody's business but the speaker's: by meaning, by words alone
_OWN_BUSINESS, _OWN_BUSINESS_BY_WORDS = 0.5, 0.75
_COULD_HURT = ("allergy", "condition", "medication")
# probabilities of these together from which on a sentence hints at one of them, or says it: one
# that is missed may hurt, one too many takes room
_HINTS, _SAYS = 0.35, 0.55
# the same for what is listed beside what a rule reads: it has to be clear, and the speaker's own
_PART_HURTS, _OTHERS_IN_CLAUSE, _OTHERS_IN_PART, _CLAUSE_PERMITS = 0.75, 0.25, 0.6, 0.05
_PERMITS = 0.15  # probability from which on a wish for answers may permit something
_LASTING = 0.55  # probability from which on a sentence says something lasting by its meaning, too
_MAYBE = 0.2  # from which on, by its words, its meaning is looked at
# weights of the head that sees vectors, against that of words alone, and of a sentence, against the
# text that it stands in
_BY_MEANING = _BY_SENTENCE = 2 / 3
_SHORTEST = 3  # letters
_JOINTS = " ,;:–—-"  # what stands before the rest of a sentence, and before its "and"
_REST = 0.35  # probability from which on the rest of a sentence says something lasting by itself
_ENDS = " .!…"
_CODE = "`"
_LONGEST_QUOTE = 40  # characters of a sentence that are not the speaker's own
_LONGEST = 4_000  # characters of a text; a longer one is material, and nobody's own words

# where something stands in a text, in characters
Span: TypeAlias = tuple[int, int]
# the vectors of texts, by text
Embed: TypeAlias = Callable[[Sequence[str]], Mapping[str, "Floats"]]
# what heads see of a text
Seen: TypeAlias = Callable[[str], "Features"]


class _Candidate(NamedTuple):
    """A sentence that may say something lasting.

    Args:
        joined: its words, and behind those of a rule what joins them: “and my body doesn't do
            lactose” lasts as what stands before it does, and without its “and” tells it less.
        whole: the text that it stands in, as far as it is the speaker's own: what the sentence
            says may be played, quoted or supposed there.
        lasting: probability that it says something lasting, by the words of both.
        quotes: whether it has words that are not the speaker's own, as wishes for answers have:
            “never say "great question"”.
        is_rest: whether it is the rest of one that a rule tells something of.
    """

    passage: Passage
    span: Span
    words: str
    joined: str
    whole: str
    lasting: float
    quotes: bool
    is_rest: bool


class _Listing(NamedTuple):
    """A clause that rules read, and those of its parts that they tell nothing of."""

    passage: Passage
    words: str
    parts: Mapping[Span, str]


class Hearing:
    """Finds what speakers say of themselves that will last; without vectors, by words alone."""

    def __init__(self, embed: Embed | None = None, embedder: str = "") -> None:
        self._statement = head("statement", embedder if embed is not None else "")
        self._kind = head("kind", embedder if embed is not None else "")
        self._privacy = head("privacy", embedder if embed is not None else "")
        # an embedder that the heads were not trained with is asked for nothing
        self._embed = embed if self._statement.sees_vectors else None

    def __call__(self, passages: Sequence[Passage]) -> Extracted:
        ruled = extract_by_rules(passages).found
        spoken = [
            passage
            for passage in passages
            if not passage.is_behaviour and len(passage.record.content) <= _LONGEST
        ]
        own = {one.record.id: own_words(one.record.content) for one in spoken}
        known: dict[str, list[Span]] = {}
        for found in ruled:
            id, span = found.passage.record.id, found.claim.span
            slot = registry().find(found.claim.key)
            spans = known.setdefault(id, [])
            if slot is not None and slot.sensitive and not slot.is_safety and id in own:
                # what stands beside a faith tells of it, and so does whoever says it again; beside
                # an allergy there may be another
                spans += _sentences_with(own[id], own[id][slice(*span)])
            spans.append(span)
        unheard = {
            id: language
            for id, words in own.items()
            # what a rule knows is in a language that is heard
            if id not in known and (language := unheard_language(words.replace(HIDDEN, "")))
        }
        seen = cache(features)  # for this call alone: it holds what people said
        candidates = [
            candidate
            for one in spoken
            for candidate in _candidates(
                one, own[one.record.id], known.get(one.record.id, ()), seen
            )
            # a part of it may be in another language
            if one.record.id not in unheard or not unheard_language(candidate.words)
        ]
        listings = list(_listings(ruled, own))
        texts = (text for one in candidates for text in (one.words, one.joined, one.whole))
        vectors = self._vectors(
            texts, (words for one in listings for words in (one.words, *one.parts.values()))
        )
        by_rule = (replace(found, extractor=RULES) for found in ruled)
        hurtful = self._hurtful(listings, vectors, seen)
        judged = self._judge(candidates, vectors, seen)
        return Extracted((*by_rule, *hurtful, *judged), unheard=unheard)

    def _vectors(self, *texts: Iterable[str]) -> Mapping[str, Floats]:
        """The vectors of texts; none where the embedder does not work: then words have to do."""
        distinct = list(dict.fromkeys(chain(*texts)))
        if self._embed is not None and distinct:
            with suppress(EmbedderError):
                made = self._embed(distinct)
                return {text: one for text, one in made.items() if self._statement.fits(one)}
        return {}

    def _hurtful(
        self, listings: Iterable[_Listing], vectors: Mapping[str, Floats], seen: Seen
    ) -> Iterator[FoundClaim]:
        """What could hurt, beside what a rule reads: of "I'm vegan and allergic to nuts", the nuts.

        So short a part may be misunderstood: it is only a hint, and only of a clause that is the
        speaker's own and permits nothing.
        """
        for clause in listings:
            vector = vectors.get(clause.words)
            permits = self._kind.decide_by(seen(clause.words), vector).probabilities["permission"]
            others = self._statement.decide_by(seen(clause.words), vector).probabilities["other"]
            if permits >= _CLAUSE_PERMITS or others >= _OTHERS_IN_CLAUSE:
                continue
            for span, words in clause.parts.items():
                vector = vectors.get(words)
                kind = self._kind.decide_by(seen(words), vector)
                others = self._statement.decide_by(seen(words), vector).probabilities["other"]
                if _hurts(kind) >= _PART_HURTS and others < _OTHERS_IN_PART:
                    yield _verbatim(clause.passage, span, _SLOTS[_careful(kind)], confident=False)

    def _judge(
        self, candidates: Sequence[_Candidate], vectors: Mapping[str, Floats], seen: Seen
    ) -> Iterator[FoundClaim]:
        for candidate in candidates:
            if not self._lasts(candidate, vectors, seen):
                continue
            kind = self._kind.decide_by(seen(candidate.words), vectors.get(candidate.words))
            if not _permits(kind) and (kind.label == "style" or not candidate.quotes):
                label = kind.label if candidate.is_rest else _careful(kind)
                slot = self._slot(label, candidate.words, vectors.get(candidate.words), seen)
                confident = label not in _COULD_HURT or _hurts(kind) >= _SAYS
                yield _verbatim(candidate.passage, candidate.span, slot, confident=confident)

    def _slot(self, kind: str, words: str, vector: Floats | None, seen: Seen) -> str:
        slot = _SLOTS[kind]
        if slot in _MAY_BE_SENSITIVE:
            # who ends a sentence with a mark, and who does not, says the same
            privacy = self._privacy.decide_by(seen(words.rstrip(_ENDS)), vector)
            least = _OWN_BUSINESS if vector is not None else _OWN_BUSINESS_BY_WORDS
            if privacy.probabilities["sensitive"] >= least:
                return _SENSITIVE
        return slot

    def _lasts(self, candidate: _Candidate, vectors: Mapping[str, Floats], seen: Seen) -> bool:
        """Whether it says something lasting; its words and its meaning tell together."""
        vector, of_whole = vectors.get(candidate.joined), vectors.get(candidate.whole)
        if vector is None or of_whole is None:
            return candidate.lasting >= LASTING_BY_WORDS
        sentence = self._statement.decide_by(seen(candidate.joined), vector)
        meant = _lasting(sentence, self._statement.decide_by(seen(candidate.whole), of_whole))
        return _BY_MEANING * meant + (1 - _BY_MEANING) * candidate.lasting >= _LASTING


def _verbatim(passage: Passage, span: Span, slot: str, *, confident: bool) -> FoundClaim:
    words = passage.record.content[slice(*span)]
    claim = Claim(key=slot, value=words, quote=words, span=span, confident=confident)
    return FoundClaim(passage, claim)


def _listings(ruled: Sequence[FoundClaim], own: Mapping[str, str]) -> Iterator[_Listing]:
    by_clause: dict[tuple[str, Span], list[FoundClaim]] = {}
    for found in ruled:
        by_clause.setdefault((found.passage.record.id, found.claim.span), []).append(found)
    for (id, (start, end)), claims in by_clause.items():
        if id in own and end - start <= MAX_VALUE_LENGTH:
            words = own[id][start:end]
            values = [str(one.claim.value).casefold() for one in claims]
            # the first part is what a rule read, though its value may have other words
            listed = list(item_spans(words))[1:]
            parts = {
                (start + first, start + last): words[first:last]
                for first, last in listed
                if not any(value in words[first:last].casefold() for value in values)
            }
            if parts:
                yield _Listing(claims[0].passage, words, parts)


def _candidates(
    passage: Passage, own: str, known: Sequence[Span], seen: Seen
) -> Iterator[_Candidate]:
    """The sentences of a passage that may say something lasting, by those of its words that are
    the speaker's own, beside the places that rules tell of."""
    whole = own.replace(HIDDEN, " ")
    statement = head("statement")
    of_whole = statement.decide_by(seen(whole))
    for start, span, is_rest in _sentences(own, known):
        quotes = HIDDEN in own[start : span[1]]
        text = passage.record.content if quotes else own
        words, joined = text[slice(*span)], text[start : span[1]]
        if quotes and _CODE in words:
            continue
        alone = statement.decide_by(seen(joined)) if joined != whole else of_whole
        lasting = _lasting(alone, of_whole)
        least = _REST if is_rest else 0.0
        if lasting >= _MAYBE and alone.probabilities["lasting"] >= least:
            yield _Candidate(passage, span, words, joined, whole, lasting, quotes, is_rest)


def _lasting(sentence: Decision, whole: Decision) -> float:
    alone, within = (one.probabilities["lasting"] for one in (sentence, whole))
    return _BY_SENTENCE * alone + (1 - _BY_SENTENCE) * within


def _sentences(own: str, known: Sequence[Span]) -> Iterator[tuple[int, Span, bool]]:
    """Where sentences are that are the speaker's own, and short enough to be kept: first where one
    begins with what joins it to what stands before. Of one that rules tell something of, the rest.
    """
    start = 0
    bounds = {bound for span in known for bound in span}
    parts = list(clauses(own)) if known else []
    for end in sorted({*marked_ends(own), *bounds, len(own)}):
        span = _trimmed(own, start, end)
        is_rest = not bounds.isdisjoint((start, end))
        start = end
        if span is None or _overlaps(span, known):
            continue
        words = own[slice(*span)]
        begin = span[0]
        if is_rest:
            # "and", between two clauses, says nothing, nor does what joins them
            inside = [one for one in parts if span[0] <= one.start and one.end <= span[1]]
            if not inside or not content_words(words):
                continue
            begin += len(words) - len(words.lstrip(_JOINTS))
            span = (inside[0].start, inside[-1].end)
            words = own[slice(*span)]
        if len(words) <= MAX_VALUE_LENGTH and words.count(HIDDEN) <= _LONGEST_QUOTE:
            yield begin, span, is_rest


def _sentences_with(own: str, words: str) -> Iterator[Span]:
    for start, end in pairwise(dict.fromkeys((0, *marked_ends(own), len(own)))):
        if words.casefold() in own[start:end].casefold():
            yield start, end


def _trimmed(text: str, start: int, end: int) -> Span | None:
    """A place without the blanks around it; None if there are hardly any letters."""
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    end -= len(part) - len(part.rstrip())
    if sum(map(str.isalpha, text[start:end])) < _SHORTEST:
        return None
    return start, end


def _permits(kind: Decision) -> bool:
    """Whether a sentence may say what agents may do: that is set by hand alone."""
    if kind.label == "style":
        return kind.probabilities["permission"] >= _PERMITS
    return kind.label == "permission"


def _careful(kind: Decision) -> str:
    """The kind of a sentence; what may well be of an allergy or of health counts as that."""
    if _hurts(kind) < _HINTS:
        return kind.label
    return max(_COULD_HURT, key=kind.probabilities.__getitem__)


def _hurts(kind: Decision) -> float:
    return sum(kind.probabilities[label] for label in _COULD_HURT)


def _overlaps(span: Span, others: Iterable[Span]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)
