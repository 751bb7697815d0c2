"""Whether lines say what a sentence says, as far as words can tell, without a model.

Numbers, dates, names, who does what, negation, contraries, duties and permissions are compared.
Passing is no proof that a sentence is true; failing is a reason to look.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache
from itertools import product

from msgspec import Struct

from ..text.analysis import STOP_WORDS, terms
from ..text.language import is_english
from .figures import Date, Number, read_figures
from .parties import swapped_party
from .polarity import negated_stems, polarity_doubts, stems_of
from .quotes import folded, plain_words
from .wording import Unit, wording

__all__ = ["Basis", "doubts"]

_SHARE = 0.5  # of a sentence's words that the lines should have
_SCOPE_SHARE = 0.34  # and the sentence that is quoted
_FEWEST_COPIED = 4  # words
_BEFORE = 4  # words before what is copied among which a negator is looked for
_US_DOLLAR = re.compile(r"\bU\.?S\.? ?(?=[Dd]ollars?\b|\$)")
_MARKED = re.compile(r"\[[^\[\]]*\bLines? [\d-]+\]", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d_][^\W_]*(?:['’][^\W\d_]+)?")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;]\s+|[\"“(•]\s*|[-*]\s+)$")


class Basis(Struct, frozen=True, kw_only=True):
    """What a sentence rests on."""

    scope: str  # the sentences that the quote is of
    cited: str  # all lines that are cited
    known: str = ""  # names that need not be there: of the document
    question: str = ""


def doubts(sentence: str, basis: Basis) -> list[str]:
    """List the reasons to doubt that the lines say this; none if there are none."""
    sentence = _US_DOLLAR.sub("", folded(_MARKED.sub(" ", sentence)).strip())
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
    found += polarity_doubts(sentence, scope)
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
    # "USD" is compared as the unit of its number
    named = (STOP_WORDS, known.generic, known.months, known.units)
    return any(folded_word in listed for listed in named)


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


# -- words -----------------------------------------------------------------------------------------


def _word_doubts(sentence: str, basis: Basis) -> Iterator[str]:
    """Doubt a sentence that has hardly a word of the lines; those of the question do not count."""
    there, around = map(_word_stems, (basis.cited, basis.scope))
    said = {stem for stem in terms(sentence) if not stem[0].isdigit()} - _passed_over()
    asked = _text_stems(basis.question)
    # what only says the question again has to stand in the lines, all of it
    if not said <= asked:
        said -= asked - there
    if len(said & there) < _SHARE * len(said) or len(said & around) < _SCOPE_SHARE * len(said):
        missing = sorted(said - around)
        yield f"the lines say little of this: nothing of {', '.join(missing[:4])}"


@cache
def _passed_over() -> frozenset[str]:
    """The stems of words that say nothing by themselves."""
    known = wording()
    return stems_of([*known.generic, *known.modals, *known.numbers, *known.units])


@lru_cache(maxsize=256)
def _word_stems(text: str) -> frozenset[str]:
    """The stems of a text, and what is negated in them: "cancel" of "noncancellable"."""
    return _text_stems(text).union(*map(negated_stems, plain_words(text)))


@lru_cache(maxsize=256)
def _text_stems(text: str) -> frozenset[str]:
    return frozenset(terms(text))
