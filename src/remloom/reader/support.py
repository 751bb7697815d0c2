"""Whether lines say what a sentence says, as far as words can tell, without a model.

Numbers, dates, names, who does what, negation, contraries, duties and permissions are compared.
Passing is no proof that a sentence is true; failing is a reason to look.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise, product

from msgspec import Struct

from ..text.analysis import STOP_WORDS, terms, terms_of_word
from ..text.language import is_english
from .figures import Date, Number, read_figures
from .parties import swapped_party
from .quotes import folded, plain_words
from .wording import Unit, wording

__all__ = ["Basis", "doubts"]

_SHARE = 0.5  # of a sentence's words that the lines should have
_SCOPE_SHARE = 0.34  # and the sentence that is quoted
_COPIED = 0.8  # of a sentence's words in the same order, from which it is a copy
_FEWEST_COPIED = 4  # words
_BEFORE = 4  # words before what is copied among which a negator is looked for
_SLIPPED = 3  # words that a copy leaves out unnoticed
_AFTER_NOT = 3  # words that "not" turns around
_AFTER_NO = 2  # words that "no" and "without" do
_NUMBERED = re.compile(r"\bno\.")
_PREFIXES = ("non", "un", "in", "im", "ir", "dis")
_MARKED = re.compile(r"\[[^\[\]]*\bLines? [\d-]+\]", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d_][^\W_]*(?:['’][^\W\d_]+)?")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;]\s+|[\"“(•]\s*|[-*]\s+)$")


class Basis(Struct, frozen=True, kw_only=True):
    """What a sentence rests on."""

    scope: str  # the sentences that the quote is of
    cited: str  # all lines that are cited
    known: str = ""  # names that need not be there: of the document
    question: str = ""


class _Polarity(Struct, frozen=True):
    """The words of a text, and the stems of those that are negated."""

    words: list[str]
    stems: frozenset[str]
    not_: frozenset[str]  # by "not", "never"
    no: frozenset[str]  # by "no", "without"
    heads: frozenset[str]  # what each "not" is said of: the first word that is no adverb
    reach: frozenset[str]  # what a "not" may be said of, some words on


def doubts(sentence: str, basis: Basis) -> list[str]:
    """List the reasons to doubt that the lines say this; none if there are none."""
    sentence = folded(_MARKED.sub(" ", sentence)).strip()
    scope, cited = folded(basis.scope), folded(basis.cited)
    if _is_copied(sentence, cited):
        return [*_figure_doubts(sentence, cited, cited), *_name_doubts(sentence, cited)]
    found = [*_figure_doubts(sentence, scope, cited)]
    found += _name_doubts(sentence, f"{cited}\n{folded(basis.known)}")
    if is_english(sentence) != is_english(cited):
        found.append("it is in another language than the lines: only figures and names are checked")
        return found
    # in other languages a capital does not make a name
    if is_english(scope) and (other := swapped_party(sentence, scope)):
        found.append(other)
    found += _polarity_doubts(sentence, scope)
    found += _word_doubts(sentence, basis)
    return found


def _is_copied(sentence: str, cited: str) -> bool:
    """Whether the lines have a sentence word for word; or what stands in it behind a colon.

    A "not" that stands just before what was copied is missed there.
    """
    negators = wording().negators
    there = f" {' '.join(plain_words(cited))} "
    lead, _, rest = sentence.partition(": ")
    for before, copied in (("", sentence), (lead, rest)):
        words = plain_words(copied)
        at = there.find(f" {' '.join(words)} ")
        if at >= 0 and len(words) >= _FEWEST_COPIED:
            around = there[:at].split()[-_BEFORE:]
            return negators.isdisjoint([*plain_words(before), *around])
    return False


# -- figures ---------------------------------------------------------------------------------------


def _figure_doubts(sentence: str, scope: str, cited: str) -> Iterator[str]:
    said = read_figures(sentence)
    if not said.numbers and not said.dates:
        return
    written, around = read_figures(scope), read_figures(cited)
    years = {value for number in around.numbers for value in number.values}
    # one that is written in numbers may mean two dates
    for text in dict.fromkeys(date.text for date in said.dates):
        meant = [date for date in said.dates if date.text == text]
        pairs = product(meant, around.dates)
        if not any(_same_date(date, other, years) for date, other in pairs):
            yield f"{text!r} is not in the lines"
    for number in said.numbers:
        if number.before in wording().places:
            continue
        of_section = number.before in wording().sections
        place = around if of_section else written
        if _has_number(number, place.numbers, place.dates, cited):
            continue
        if _has_number(number, around.numbers, around.dates, cited):
            yield f"{number.text!r} is in the lines, but not in the sentence that is quoted"
        else:
            yield f"{number.text!r} is not in the lines"


def _same_date(date: Date, other: Date, years: Collection[str]) -> bool:
    if date.includes(other):
        return True
    is_split = not other.year and str(date.year) in years
    return is_split and (date.month, date.day) == (other.month, other.day)


def _has_number(
    number: Number, others: Sequence[Number], dates: Sequence[Date], cited: str
) -> bool:
    if not number.unit and any(str(date.year) in number.values for date in dates):
        return True
    for other in others:
        if number.unit and number.unit == other.unit:
            if number.scaled & other.scaled:
                return True
        elif not number.values & other.values:
            continue
        elif not number.unit or (not other.unit and _has_unit(number, cited)):
            return True
    return False


def _has_unit(number: Number, text: str) -> bool:
    """Whether a number's unit is named anywhere: over the column of a table, say."""
    unit = Unit(number.unit, number.factor)
    names = {name for name, known in wording().units.items() if known == unit}
    return not names.isdisjoint(plain_words(text))


# -- names -----------------------------------------------------------------------------------------


def _name_doubts(sentence: str, text: str) -> Iterator[str]:
    words = frozenset(plain_words(text))
    stems = _text_stems(text)
    missing = []
    for match in _NAME.finditer(sentence):
        name = match[0]
        is_name = name[0].isupper() and len(name) > 1
        if not is_name or _is_ordinary(name) or _starts_sentence(sentence, match):
            continue
        if not _has_name(name, words, stems, text):
            missing.append(name)
    if missing:
        yield f"{', '.join(map(repr, dict.fromkeys(missing)))} is not in the lines"


def _is_ordinary(word: str) -> bool:
    folded_word = word.casefold()
    known = wording()
    return folded_word in STOP_WORDS or folded_word in known.generic or folded_word in known.months


def _starts_sentence(sentence: str, match: re.Match[str]) -> bool:
    """Whether a capital may be there because a sentence begins, and not a name of several words."""
    if not _SENTENCE_START.search(sentence[: match.start()]):
        return False
    following = _NAME.match(sentence, match.end() + 1)
    return following is None or not following[0][0].isupper()


def _has_name(name: str, words: Collection[str], stems: Collection[str], text: str) -> bool:
    plain = plain_words(name)
    if all(word in words for word in plain):
        return True
    whole = "".join(plain)
    if set(terms(name)) <= set(stems) or whole.removesuffix("s") in words:
        return True
    if name.isupper():
        initials = "".join(match[0][0] for match in _NAME.finditer(text) if match[0][0].isupper())
        return name in initials
    return False


# -- what is said of them --------------------------------------------------------------------------


def _polarity_doubts(sentence: str, scope: str) -> Iterator[str]:
    """Doubt what is turned around: by a negator, by a contrary, by "must" in place of "may"."""
    said, written = _read_polarity(sentence), _read_polarity(scope)
    yield from _negation_doubts(said, written)
    yield from _contrary_doubts(said, written)
    yield from _copy_doubts(said.words, written.words)
    if not _is_forbidding(said.words) and not _is_forbidding(written.words):
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
        if own & said.stems and not is_kept:
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
    for before, word in pairwise(("", *said.words)):
        others = known.opposites.get(word, frozenset()) & there
        if not others or word in there or not written.stems.isdisjoint(terms_of_word(word)):
            continue
        # "not refundable" is no contrary of "nonrefundable"
        if (before in known.negators) == _has_not(written.words, others):
            yield f"it says {word!r}, the sentence that is quoted {min(others)!r}"


def _has_not(words: Sequence[str], wanted: Collection[str]) -> bool:
    """Whether a negator stands right before one of these."""
    negators = wording().negators
    return any(before in negators and word in wanted for before, word in pairwise(words))


def _is_negative(one: _Polarity, other: _Polarity) -> bool:
    """Whether one says without "not" what the other says with it, as far as is known."""
    if not wording().negative.isdisjoint(one.words):
        return True
    there = set(other.words)
    return any(
        word.startswith(prefix) and word.removeprefix(prefix) in there
        for word in one.words
        for prefix in _PREFIXES
    )


def _is_forbidding(words: Sequence[str]) -> bool:
    """Whether it says "may not", "must never" or the like, which are neither "may" nor "must"."""
    known = wording()
    modal = known.duties | known.permissions | known.modals
    pairs = pairwise(words)
    return "cannot" in words or any(a in modal and b in known.negators for a, b in pairs)


def _duty_doubts(said: set[str], written: set[str]) -> Iterator[str]:
    known = wording()
    is_duty = [bool(words & known.duties) for words in (said, written)]
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
    return _Polarity(words, _stems(words), *sets)


def _stems(words: Sequence[str]) -> frozenset[str]:
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


def _word_doubts(sentence: str, basis: Basis) -> Iterator[str]:
    """Doubt a sentence that has hardly a word of the lines; those of the question do not count."""
    there, around = _text_stems(basis.cited), _text_stems(basis.scope)
    said = {stem for stem in terms(sentence) if not stem[0].isdigit()} - _passed_over()
    said -= _text_stems(basis.question) - there
    if len(said & there) < _SHARE * len(said) or len(said & around) < _SCOPE_SHARE * len(said):
        missing = sorted(said - around)
        yield f"the lines say little of this: nothing of {', '.join(missing[:4])}"


@cache
def _passed_over() -> frozenset[str]:
    """The stems of words that say nothing by themselves."""
    known = wording()
    return _stems([*known.generic, *known.modals, *known.numbers])


@lru_cache(maxsize=256)
def _text_stems(text: str) -> frozenset[str]:
    return frozenset(terms(text))
