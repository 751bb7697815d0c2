"""Whether lines say what a sentence says, as far as can be told without a model.

Numbers with their units, dates, times of day and names have to stand in the lines; a sentence that
repeats them but for a word is held to that word. Who does what to whom is not checked, nor what is
said in other words: a sentence without a doubt may be false.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import product

from msgspec import Struct

from ..text.analysis import STOP_WORDS, terms
from ..text.language import is_english
from .figures import Date, Figures, Number, read_figures
from .near_copy import changed_words
from .quotes import folded, plain_words
from .wording import Unit, wording

__all__ = ["Basis", "doubts"]

_SHARE = 0.2  # of a sentence's words that the lines should have
_NAMED = 4  # words in a doubt
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
    found = [*_figure_doubts(sentence, scope, cited)]
    found += _name_doubts(sentence, f"{cited}\n{folded(basis.known)}")
    if is_english(sentence) != is_english(cited):
        found.append("it is in another language than the lines: only figures and names are checked")
        return found
    if changed := changed_words(sentence, scope):
        found.append(changed)
    found += _word_doubts(sentence, basis)
    return found


# -- figures ---------------------------------------------------------------------------------------


def _figure_doubts(sentence: str, scope: str, cited: str) -> Iterator[str]:
    said = read_figures(sentence)
    if said == Figures((), ()):
        return
    written, around = read_figures(scope), read_figures(cited)
    years = {value for number in around.numbers for value in number.values}
    # one that is written in numbers may mean two dates
    for text in dict.fromkeys(date.text for date in said.dates):
        meant = [date for date in said.dates if date.text == text]
        pairs = product(meant, around.dates)
        if not any(_same_date(date, other, years) for date, other in pairs):
            yield f"{text!r} is not in the lines"
    there = {one.minutes for one in around.times}
    hours = {hour for one in around.times for hour in one.hours}
    for time in said.times:
        # "at ten" is a number
        is_number = not time.minutes % 60 and any(time.hours & one.values for one in around.numbers)
        if time.minutes not in there and not is_number:
            yield f"{time.text!r} is not in the lines"
    for number in said.numbers:
        if number.before in wording().places or (not number.unit and number.values & hours):
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
    said, there = _text_stems(sentence), _text_stems(basis.cited)
    # what only says the question again has to stand in the lines
    said = said - _text_stems(basis.question) or said
    if len(said & there) < _SHARE * len(said):
        missing = sorted(said - there)
        yield f"the lines say little of this: nothing of {', '.join(missing[:_NAMED])}"


@lru_cache(maxsize=256)
def _text_stems(text: str) -> frozenset[str]:
    return frozenset(term for term in terms(text) if not term[0].isdigit())
