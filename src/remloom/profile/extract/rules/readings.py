"""How the words that a pattern caught are read: each reading makes values of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from ....ingest.names.word_lists import english
from .lexicon import is_known, lists, read_items
from .passage import given_names
from .phrases import alternatives

# the last: who eats none
_DIETS = {"veggie": "vegetarian", "pescetarian": "pescatarian", "meat": "vegetarian"}
# "St.", and no "Berlin.js"
_CAPITAL = r"[A-ZÀ-Þ](?:[\w’'-]|\.(?![a-z]))+"
_INNER = r"[ -](?:(?:de|del|la|le|am|an der|upon|of|do|da) )?"
# "Toronto, Ontario, Canada"
_PLACE = re.compile(
    rf"(?:the )?(?P<place>{_CAPITAL}(?:{_INNER}{_CAPITAL}){{0,3}}"
    rf"(?:,\s(?:the )?{_CAPITAL}(?:\s{_CAPITAL}){{0,2}}){{0,2}})"
)
# what may stand behind a place, beside the end
_BEHIND_PLACE = re.compile(rf"\s*(?:[!,]|\.(?!\w)|$|\s{alternatives('behind_places')}\b)")
_BEHIND_STATE = re.compile(rf"[^\w\s-]|\s*$|\s+{alternatives('behind_states')}\b", re.IGNORECASE)
_DEGREE = re.compile(r"(?:severe|bad|mild|terrible|chronic|slight|awful) ", re.IGNORECASE)
_FLUENCY = re.compile(
    r"(?:fluent|some|basic|broken|native|little|conversational)\s+|\s+speaker$", re.IGNORECASE
)


def _words(text: str) -> list[str]:
    return [text.strip(" .,!")]


def _name(text: str) -> list[str]:
    name = text.strip(" .,!")
    plain = name.casefold()
    if plain in lists()["not_names"] or plain.split()[0] in lists()["not_names"]:
        return []
    if name[0].islower() and plain not in given_names():
        return []
    return [name]


def _known_name(text: str) -> list[str]:
    """A name behind "I'm", where any word may stand: one that begins with a given name."""
    first = text.split()[0].strip(".,!")
    if first[0].islower() or first.casefold() not in given_names():
        return []
    return _name(text)


def _names(text: str) -> list[str]:
    return [name for name in read_items(text) if name and name[0].isupper()]


def _place(text: str) -> list[str]:
    found = _PLACE.match(text)
    if found and _BEHIND_PLACE.match(text, found.end()):
        place = found["place"].rstrip(".")
        other = place.casefold() in lists()["not_places"] or is_known(place)
        return [] if other else [place]
    plain = " ".join(read_items(text)[:1]).casefold()
    known_place = _places().get(plain)
    return [known_place] if known_place else []


def is_known_place(name: str) -> bool:
    """Whether a name is that of a place that everybody knows."""
    return name.partition(",")[0].casefold() in _places()


def _land(text: str) -> list[str]:
    """A place where somebody is: well known, as "I'm now in" takes a team or a shop too."""
    return [place for place in _place(text) if is_known_place(place)]


def _organisation(text: str) -> list[str]:
    name = text.strip(" .,!")
    if name.endswith("'s"):
        return []
    first = name.split()[0].casefold()
    other = (
        first in lists()["not_names"] or first in english().days or first in english().stop_words
    )
    return [] if other else [name]


def _spoken(text: str) -> list[str]:
    languages: list[str] = []
    for item in read_items(text):
        plain = _FLUENCY.sub("", item)
        if plain.casefold() not in lists()["spoken"]:
            break
        languages.append(plain)
    return languages


def _diet(text: str) -> list[str]:
    return [_DIETS.get(text.casefold(), text.casefold())]


def _allergens(text: str) -> list[str]:
    known = lists()["allergens"]
    kinds = lists()["allergen_kinds"]
    allergens: list[str] = []
    for item in read_items(text):
        plain = item.casefold()
        forms = {plain, f"{plain[:-3]}y", *map(plain.removesuffix, ("s", "es", "e"))}
        *others, last = plain.split()
        of_a_kind = len(others) in (1, 2) and {last, last.removesuffix("s")} & kinds
        # "a few other nuts" says not which
        if not (forms & known or of_a_kind) or "other" in others:
            break
        allergens.append(item)
    return allergens


def _condition(text: str) -> list[str]:
    """A state of health that is known by its name; of the first item alone."""
    item = _DEGREE.sub("", " ".join(read_items(text)[:1]))
    return [item] if item.casefold() in lists()["conditions"] else []


def _condition_of_person(text: str) -> list[str]:
    """What somebody is: "diabetic", and not "blind to the difference"."""
    return [item for item in _condition(text) if _holds(item, text)]


def _religion(text: str) -> list[str]:
    item = " ".join(read_items(text)[:1])
    known = item.casefold() in lists()["religions"]
    return [item] if known and _holds(item, text) else []


def _holds(item: str, text: str) -> bool:
    """Whether what stands behind a state leaves it what it is."""
    return bool(_BEHIND_STATE.match(text, text.find(item) + len(item)))


def _family(text: str) -> list[str]:
    return [text.replace(",", "")]


@cache
def _places() -> dict[str, str]:
    return {place.casefold(): place for place in english().places}


READINGS: dict[str, Callable[[str], list[str]]] = {
    "allergens": _allergens,
    "condition": _condition,
    "condition of a person": _condition_of_person,
    "diet": _diet,
    "family": _family,
    "known name": _known_name,
    "land": _land,
    "name": _name,
    "names": _names,
    "organisation": _organisation,
    "place": _place,
    "religion": _religion,
    "spoken": _spoken,
    "words": _words,
}
