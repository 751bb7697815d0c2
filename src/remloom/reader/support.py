"""Whether lines say what a sentence says, as far as words can tell, without a model.

Numbers, dates, names, who does what, negation, contraries, duties and permissions are compared.
Passing is no proof that a sentence is true; failing is a reason to look.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from ..text.analysis import STOP_WORDS, terms, terms_of_word
from ..text.language import is_english
from .figures import Date, Number, read_figures
from .parties import swapped_party
from .quotes import folded, plain_words
from .wording import wording

__all__ = ["Basis", "doubts"]

_SHARE = 0.5  # of a sentence's words that the lines should have
_AFTER_NOT = 3  # words that a negator turns around
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
    sentence = folded(_MARKED.sub(" ", sentence)).strip()
    scope, cited = folded(basis.scope), folded(basis.cited)
    found = [*_figure_doubts(sentence, scope, cited)]
    found += _name_doubts(sentence, f"{cited}\n{folded(basis.known)}")
    if is_english(sentence) != is_english(cited):
        found.append("it is in another language than the lines: only figures and names are checked")
        return found
    if other := swapped_party(sentence, scope):
        found.append(other)
    found += _polarity_doubts(sentence, scope)
    found += _word_doubts(sentence, scope, cited, folded(basis.question))
    return found


# -- figures ---------------------------------------------------------------------------------------


def _figure_doubts(sentence: str, scope: str, cited: str) -> Iterator[str]:
    said = read_figures(sentence)
    if not said.numbers and not said.dates:
        return
    written, around = read_figures(scope), read_figures(cited)
    years = {value for number in around.numbers for value in number.values}
    for date in said.dates:
        if not any(_same_date(date, other, years) for other in around.dates):
            yield f"{date.text!r} is not in the lines"
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
        elif not number.unit or (not other.unit and _has_unit(number.unit, cited)):
            return True
    return False


def _has_unit(unit: str, text: str) -> bool:
    """Whether a unit is named anywhere: over the column of a table, say."""
    names = {name for name, known in wording().units.items() if known.of == unit}
    return not names.isdisjoint(plain_words(text))


# -- names -----------------------------------------------------------------------------------------


def _name_doubts(sentence: str, text: str) -> Iterator[str]:
    words = frozenset(plain_words(text))
    stems = frozenset(terms(text))
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
    said, written = _neutralised(sentence), _neutralised(scope)
    known = wording()
    said_not, written_not = _negated(said), _negated(written)
    said_stems, written_stems = _stems(said), _stems(written)
    if said_not is not None and written_not is None:
        if known.negative.isdisjoint(written) and not _has_prefix(written):
            yield "it says 'not', the sentence that is quoted does not"
    elif written_not is not None and said_not is None:
        if known.negative.isdisjoint(said) and not _has_prefix(said) and written_not & said_stems:
            yield "the sentence that is quoted says 'not', it does not"
    elif said_not is not None and written_not is not None:
        turned = (said_not & written_stems) | (written_not & said_stems)
        if not said_not & written_not and turned:
            yield "it says 'not' of something else than the sentence that is quoted"
    for word in said:
        others = known.opposites.get(word, frozenset()) & set(written)
        if others and not set(terms_of_word(word)) & written_stems and word not in written:
            yield f"it says {word!r}, the sentence that is quoted {min(others)!r}"
    if not _is_forbidding(said) and not _is_forbidding(written):
        yield from _duty_doubts(set(said), set(written))


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


def _neutralised(text: str) -> list[str]:
    """The words of a text; "not less than" and the like without their negators."""
    text = text.casefold()
    for phrase, instead in wording().neutral:
        text = phrase.sub(instead, text)
    return plain_words(text)


def _negated(words: Sequence[str]) -> frozenset[str] | None:
    """The stems of what is negated; None if nothing is."""
    negators = wording().negators
    places = [at for at, word in enumerate(words) if word in negators]
    if not places:
        return None
    negated: set[str] = set()
    for at in places:
        following = [stem for word in words[at + 1 : at + 12] for stem in terms_of_word(word)]
        negated.update(following[:_AFTER_NOT])
    return frozenset(negated)


def _stems(words: Sequence[str]) -> frozenset[str]:
    return frozenset(stem for word in words for stem in terms_of_word(word))


def _has_prefix(words: Sequence[str]) -> bool:
    return any(len(word) > 6 and word.startswith(("non", "un", "in", "im", "ir")) for word in words)


def _word_doubts(sentence: str, scope: str, cited: str, question: str) -> Iterator[str]:
    """Doubt a sentence that has hardly a word of the lines; those of the question do not count."""
    there = set(terms(cited))
    known = wording()
    passed_over = known.generic | known.modals | known.numbers.keys()
    words = (word for word in plain_words(sentence) if word not in passed_over)
    said = {stem for word in words if not word[0].isdigit() for stem in terms_of_word(word)}
    said -= set(terms(question)) - there
    if said and len(said & there) < _SHARE * len(said):
        missing = sorted(said - there)
        yield f"the lines say little of this: nothing of {', '.join(missing[:4])}"
