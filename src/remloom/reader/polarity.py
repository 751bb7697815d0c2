"""Polarity: whether a sentence turns around what lines say.

Negation, contraries, duties and permissions are compared, as far as words can tell.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from ..text.analysis import terms_of_word
from .quotes import plain_words
from .wording import wording

__all__ = ["negated_stems", "polarity_doubts", "stems_of"]

_COPIED = 0.8  # of a sentence's words in the same order, from which it is a copy
_SLIPPED = 3  # words that a copy leaves out unnoticed
_AFTER_NOT = 3  # words that "not" turns around
_BEFORE_MODAL = 3  # words before "may" among which a "no" or "never" is of it
_AFTER_NO = 2  # words that "no" and "without" do
_PRIOR = re.compile(r"\bprior\s+to\b")
_NUMBERED = re.compile(r"\bno\.")
_NEGATED = re.compile(r"non(?=\w{4})")
_PREFIXES = ("non", "un", "in", "im", "ir", "dis")


class _Polarity(Struct, frozen=True):
    """The words of a text, and the stems of those that are negated."""

    words: list[str]
    stems: frozenset[str]
    not_: frozenset[str]  # by "not", "never"
    no: frozenset[str]  # by "no", "without"
    heads: frozenset[str]  # what each "not" is said of: the first word that is no adverb
    reach: frozenset[str]  # what a "not" may be said of, some words on


def polarity_doubts(sentence: str, scope: str) -> Iterator[str]:
    """Doubt what is turned around: by a negator, by a contrary, by "must" in place of "may"."""
    said, written = _read_polarity(sentence), _read_polarity(scope)
    yield from _negation_doubts(said, written)
    yield from _contrary_doubts(said, written)
    yield from _sole_doubts(said.words, written.words)
    yield from _copy_doubts(said.words, written.words)
    is_forbidding = _is_forbidding(said.words) or _is_forbidding(written.words)
    if not is_forbidding and not _is_of_receiver(said.words, written.words):
        yield from _duty_doubts(set(said.words), set(written.words))


def _negation_doubts(said: _Polarity, written: _Polarity) -> Iterator[str]:
    # "has no duty" is "is not obliged", and "without consent" another matter than "not": the two
    # are told apart, but one may stand for the other
    for own, theirs, other in (
        (said.not_, written.not_, written.no - said.no),
        (said.no, written.no, written.not_ - said.not_),
    ):
        if own and not theirs and not own & other and not _is_negative(written, said):
            yield "it says 'not', the sentence that is quoted does not"
            return
    for own, theirs, other in (
        (written.not_, said.not_, said.no - written.no),
        (written.no, said.no, said.not_ - written.not_),
    ):
        is_kept = bool(theirs) or bool(own & other) or _is_negative(said, written)
        is_kept = is_kept or _is_requirement(said, written)
        # a number says nothing of what is done
        if any(not stem.isdigit() for stem in own & said.stems) and not is_kept:
            yield "the sentence that is quoted says 'not', it does not"
            return
    turned = (said.heads & (written.stems - written.reach)) | (
        written.heads & (said.stems - said.reach)
    )
    if said.not_ and written.not_ and turned and not said.not_ & written.not_:
        yield "it says 'not' of something else than the sentence that is quoted"


def _contrary_doubts(said: _Polarity, written: _Polarity) -> Iterator[str]:
    known = wording()
    there = set(written.words)
    yield from _bare_doubts(said, written)
    for before, word in pairwise(("", *said.words)):
        others = known.opposites.get(word, frozenset()) & there
        if not others or word in there or not written.stems.isdisjoint(terms_of_word(word)):
            continue
        # "not refundable" is no contrary of "nonrefundable"
        if (before in known.negators) == _has_not(written.words, others):
            yield f"it says {word!r}, the sentence that is quoted {min(others)!r}"


def _bare_doubts(said: _Polarity, written: _Polarity) -> Iterator[str]:
    """Doubt "may cancel" where the lines have "noncancellable", and the other way round."""
    for one, other in ((said, written), (written, said)):
        for word in one.words:
            bare = negated_stems(word)
            if bare and bare <= other.stems - one.stems and not (other.not_ or other.no):
                yield f"{word!r} is said of what is not said to be so"
                return


def _sole_doubts(said: Sequence[str], written: Sequence[str]) -> Iterator[str]:
    """Doubt that only one may, where the lines say that either party may."""
    known = wording()
    if said[:1] and said[0] in known.sole and known.sole.isdisjoint(written):
        parties = ("party", "parties")
        named = {before for before, word in pairwise(written) if word in parties}
        if others := named & known.several:
            yield f"it says {said[0]!r}, the sentence that is quoted {min(others)!r}"


def _has_not(words: Sequence[str], wanted: Collection[str]) -> bool:
    """Whether a negator stands right before one of these."""
    negators = wording().negators
    return any(before in negators and word in wanted for before, word in pairwise(words))


def _is_negative(one: _Polarity, other: _Polarity) -> bool:
    """Whether one says without "not" what the other says with it, as far as is known."""
    known = wording()
    there = set(other.words)
    negative = known.negative.intersection(one.words)
    if negative and (negative - known.exceptions or known.conditions & there):
        return True
    return any(
        word.startswith(prefix) and word.removeprefix(prefix) in there
        for word in one.words
        for prefix in _PREFIXES
    )


def _is_requirement(said: _Polarity, written: _Polarity) -> bool:
    """Whether "not … without" is told as what is needed."""
    known = wording()
    is_condition = not {"without", "unless", "except"}.isdisjoint(written.words)
    return is_condition and not known.requirements.isdisjoint(said.words)


def _is_forbidding(words: Sequence[str]) -> bool:
    """Whether it says "may not", "must never" or the like, which are neither "may" nor "must"."""
    known = wording()
    modal = known.duties | known.permissions | known.modals
    pairs = pairwise(words)
    if "cannot" in words or any(a in modal and b in known.negators for a, b in pairs):
        return True
    # "no party may", "never shall"
    return any(
        word in modal and not known.negators.isdisjoint(words[max(0, at - _BEFORE_MODAL) : at])
        for at, word in enumerate(words)
    )


def _is_of_receiver(said: Sequence[str], written: Sequence[str]) -> bool:
    """Whether it says what somebody may to whom, as the lines have it, others must give it.

    "The Adviser shall make its books available to the Trust": the Trust may see them.
    """
    permissions = wording().permissions
    own = {before for before, word in pairwise(said) if word in permissions}
    plain = [word for word in written if word != "the"]
    receivers = {word for before, word in pairwise(plain) if before == "to"}
    return bool(own) and own <= receivers


def _duty_doubts(said: set[str], written: set[str]) -> Iterator[str]:
    known = wording()
    # "only the Trust may" is a duty of all others
    duties = known.duties | known.sole
    is_duty = [bool(words & duties) for words in (said, written)]
    is_permission = [bool(words & known.permissions) for words in (said, written)]
    if is_duty == [True, False] and is_permission == [False, True]:
        yield "it says what must be, the sentence that is quoted what may be"
    if is_duty == [False, True] and is_permission == [True, False]:
        yield "it says what may be, the sentence that is quoted what must be"


def _read_polarity(text: str) -> _Polarity:
    """Read what is negated; "not less than" and the like negate nothing."""
    known = wording()
    text = _NUMBERED.sub("number", text.casefold())
    if not known.negators.isdisjoint(plain_words(text)):
        for phrase, instead in known.neutral:
            text = phrase.sub(instead, text)
    text = _PRIOR.sub("before", text)
    words = plain_words(text)
    not_: set[str] = set()
    no: set[str] = set()
    heads: set[str] = set()
    reach: set[str] = set()
    for at, word in enumerate(words):
        if word not in known.negators:
            continue
        following = [word for word in words[at + 1 : at + 12] if word not in known.negators]
        stems = [stem for word in following for stem in terms_of_word(word)]
        if word in known.adjective_negators:
            no.update(stems[:_AFTER_NO] or [word])
        else:
            not_.update(stems[:_AFTER_NOT] or [word])
            reach.update(stems)
            verbs = [word for word in following if not word.endswith("ly") and terms_of_word(word)]
            heads.update(terms_of_word(verbs[0]) if verbs else ())
    sets = map(frozenset, (not_, no, heads, reach))
    return _Polarity(words, stems_of(words), *sets)


def negated_stems(word: str) -> frozenset[str]:
    """The stems of what a word negates: "cancel" of "noncancellable"; none of other words."""
    return stems_of([_NEGATED.sub("", word)]) if _NEGATED.match(word) else frozenset()


def stems_of(words: Sequence[str]) -> frozenset[str]:
    """The stems of words."""
    return frozenset(stem for word in words for stem in terms_of_word(word))


def _copy_doubts(said: Sequence[str], written: Sequence[str]) -> Iterator[str]:
    """Compare a sentence that is nearly copied word by word: a "not" too many or too few shows."""
    from rapidfuzz.distance import Levenshtein

    operations = Levenshtein.opcodes(said, written)
    same = sum(part.src_end - part.src_start for part in operations if part.tag == "equal")
    if same < _COPIED * len(said):
        return
    known = wording()
    # "excludes" is "does not include"
    is_reworded = (known.negative & set(said)) != (known.negative & set(written))
    for part in operations:
        ours = set(said[part.src_start : part.src_end])
        theirs = set(written[part.dest_start : part.dest_end])
        if part.tag == "equal" or (not ours and len(theirs) > _SLIPPED):
            continue
        has_not = [not known.negators.isdisjoint(words) for words in (ours, theirs)]
        if has_not[0] != has_not[1] and not is_reworded:
            yield "it is the sentence that is quoted, but for a 'not'"
            return
        if not _is_forbidding(said) and not _is_forbidding(written):
            yield from _duty_doubts(ours, theirs)
