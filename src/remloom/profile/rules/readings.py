"""How the words that a pattern caught are read: each reading makes (key, value) pairs of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from ...ingest.names.word_lists import ENGLISH
from .lexicon import lists, lookup, read_items
from .passage import HIDDEN, given_names
from .phrases import alternatives, words

__all__ = ["READINGS", "Pairs", "is_known_place"]

# an empty key stands for that of the pattern
Pairs = list[tuple[str, str]]

_COUNTED = "one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: str(number) for number, word in enumerate(_COUNTED.split(), 1)}
_DIETS = {
    "vegetarier": "vegetarian",
    "vegetarierin": "vegetarian",
    "vegetarisch": "vegetarian",
    "veggie": "vegetarian",
    "veganer": "vegan",
    "veganerin": "vegan",
    "pescetarian": "pescatarian",
}
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
_MONTHS = frozenset(
    [
        *("january", "february", "march", "april", "may", "june", "july"),
        *("august", "september", "october", "november", "december"),
    ]
)
_ROLE_END = re.compile(rf"\s+{alternatives('role_tails')}\b.*|[,.!(].*", re.IGNORECASE)
_NO_ROLE = words("not_roles")
_EMPLOYER = re.compile(
    r"\s(?:(?:at|for)\s|with\s(?=(?-i:[A-Z])))(?:the )?"
    r"(?P<org>(?-i:[A-Z0-9][\w&.’+-]*(?:\s(?:of |& )?[A-Z][\w&.’+-]*){0,3}))"
)
_FORMAT_END = re.compile(r"\s+(?:format|form|answers|style|output|only|like\b.*)$", re.IGNORECASE)
_DEGREE = re.compile(r"(?:severe|bad|mild|terrible|chronic|slight|awful) ", re.IGNORECASE)
_DEGREE_END = re.compile(
    r"\s+(?:and|but|so|which|that|because|yet|though)\b.*|[,.!(].*", re.IGNORECASE
)
_DANGLING = re.compile(
    r"\b(?:an?|the|of|to|for|with|in|on|at|and|or|but|that|which|is|are|when|if)$", re.IGNORECASE
)
_MOST_WORDS = 5


def _phrase(text: str) -> Pairs:
    found = [item for item in read_items(text)[:1] if _is_short(item)]
    return [("", item) for item in found]


def _items(text: str) -> Pairs:
    items = read_items(text)
    # where one item is a clause, the list is over
    pairs: Pairs = []
    for item in items:
        if not _is_short(item):
            break
        pairs.append(("", item))
    return pairs


def _is_short(item: str) -> bool:
    own = re.search(
        rf"\b(?:I|you|it|he|she|they|we|me|that|this|my)\b|{HIDDEN}", item, re.IGNORECASE
    )
    return bool(item) and len(item.split()) <= _MOST_WORDS and not own


def _words(text: str) -> Pairs:
    return [("", text.strip(" .,!"))]


def _wish(text: str) -> Pairs:
    plain = re.sub(r"[\s.!?,]*(?:please|thanks|ok|okay)?[\s.!?]*$", "", text)
    about_one = re.search(
        r"\b(?:this|here|these|the following|above|below)\b", plain, re.IGNORECASE
    )
    # with a quotation cut off it would be another wish
    # the line ended before the sentence did
    if _DANGLING.search(plain):
        return []
    if about_one or plain.endswith(("'", '"', "“", "«")) or not 0 < len(plain.split()) <= 14:
        return []
    return [("", plain)]


def _name(text: str) -> Pairs:
    name = text.strip(" .,!")
    plain = name.casefold()
    if plain in lists()["not_names"] or plain.split()[0] in lists()["not_names"]:
        return []
    if name[0].islower() and plain not in given_names():
        return []
    return [("", name)]


def _known_name(text: str) -> Pairs:
    """A name behind "I'm", where any word may stand: one that begins with a given name."""
    first = text.split()[0].strip(".,!")
    if first[0].islower() or first.casefold() not in given_names():
        return []
    return _name(text)


def _names(text: str) -> Pairs:
    return [("", name) for name in read_items(text) if name and name[0].isupper()]


def _place(text: str) -> Pairs:
    found = _PLACE.match(text)
    if found and _BEHIND_PLACE.match(text, found.end()):
        place = found["place"].rstrip(".")
        other = place.casefold() in lists()["not_places"] or lookup([place], "use")
        return [] if other else [("", place)]
    plain = " ".join(read_items(text)[:1]).casefold()
    known_place = _places().get(plain)
    return [("", known_place)] if known_place else []


def is_known_place(name: str) -> bool:
    """Whether a name is that of a place that everybody knows."""
    return name.partition(",")[0].casefold() in _places()


def _land(text: str) -> Pairs:
    """A place where somebody comes from: well known, as "I'm from" takes a team or a shop too."""
    return [(key, place) for key, place in _place(text) if is_known_place(place)]


def _nationality(text: str) -> Pairs:
    return [("", text)] if text.casefold() in lists()["nationalities"] else []


def _role(text: str) -> Pairs:
    plain = _ROLE_END.sub("", text).strip(" .,!")
    parts = plain.split()
    if not 0 < len(parts) <= _MOST_WORDS or parts[-1].casefold() not in lists()["occupations"]:
        return []
    if _NO_ROLE.search(plain):
        return []
    level = parts[0].casefold()
    is_level = level in ("senior", "junior")
    role = " ".join(parts[1:] if is_level else parts)
    pairs: Pairs = [("", role)] if role else []
    if is_level:
        pairs.append(("professional_context.experience_level", level))
    if employer := _EMPLOYER.search(text):
        pairs.append(("identity.employer", employer["org"].rstrip(".")))
    return pairs


def _industry(text: str) -> Pairs:
    plain = re.sub(
        r"\s+(?:sector|industry|business|field|space)\b.*",
        "",
        text.strip(" .!"),
        flags=re.IGNORECASE,
    )
    plain = " ".join(read_items(plain)[:1])
    return [("", plain)] if plain.casefold() in lists()["industries"] else []


def _organisation(text: str) -> Pairs:
    name = text.strip(" .,!")
    if name.endswith("'s"):
        return []
    first = name.split()[0].casefold()
    if first in lists()["not_names"] or first in _MONTHS or first in ENGLISH.stop_words:
        return []
    return [("", name)]


def _spoken(text: str) -> Pairs:
    pairs: Pairs = []
    for item in read_items(text):
        plain = re.sub(
            r"^(?:fluent|some|basic|broken|native|little|conversational)\s+", "", item, flags=re.I
        )
        if plain.casefold() not in lists()["spoken"]:
            break
        pairs.append(("", plain))
    return pairs


def _learnt(text: str) -> Pairs:
    """What somebody learns: a language, an instrument, a tool, a name; "a lot" is none."""
    pairs: Pairs = []
    for item in read_items(text):
        plain = item.casefold()
        is_known = plain in lists()["spoken"] or any(
            lookup([item], verb) for verb in ("use", "play", "quit")
        )
        if not is_known and not (item[:1].isupper() and len(item.split()) <= 3):
            break
        pairs.append(("", item))
    return pairs


def _count(text: str) -> Pairs:
    number = _NUMBERS.get(text.casefold(), text)
    return [("", number)] if number.isdigit() else []


def _format(text: str) -> Pairs:
    # "plain" is no part of a thing's name elsewhere
    items = [text] if text.casefold().startswith("plain") else read_items(text)[:1]
    names = [_FORMAT_END.sub("", item.strip(" .!")) for item in items]
    return [("", name) for name in names if name.casefold() in lists()["formats"]]


def _quotation(text: str) -> Pairs:
    return [("", text.strip(" .,“”\"'‘«»") or text)]


def _diet(text: str) -> Pairs:
    return [("", _DIETS.get(text.casefold(), text.casefold()))]


def _allergens(text: str) -> Pairs:
    known = lists()["allergens"]
    kinds = lists()["allergen_kinds"]
    pairs: Pairs = []
    for item in read_items(text):
        plain = item.casefold()
        forms = {
            plain,
            plain.removesuffix("s"),
            plain.removesuffix("es"),
            f"{plain[:-3]}y",
            plain.removesuffix("e"),
        }
        forms |= {
            plain.replace("ü", "u").removesuffix("e"),
            plain.replace("ü", "u").removesuffix("n"),
        }
        *others, last = plain.split()
        of_a_kind = len(others) in (1, 2) and {last, last.removesuffix("s")} & kinds
        # "a few other nuts" says not which
        if not (forms & known or of_a_kind) or "other" in others:
            break
        pairs.append(("", item))
    return pairs


def _sleep(text: str) -> Pairs:
    return [("", "night owl" if "night" in text.casefold() else "early bird")]


def _condition(text: str) -> Pairs:
    """A state of health that is known by its name; of the first item alone."""
    item = _DEGREE.sub("", " ".join(read_items(text)[:1]))
    return [("", item)] if item.casefold() in lists()["conditions"] else []


def _condition_of_person(text: str) -> Pairs:
    """What somebody is: "diabetic", and not "blind to the difference"."""
    return [(key, item) for key, item in _condition(text) if _holds(item, text)]


def _religion(text: str) -> Pairs:
    item = " ".join(read_items(text)[:1])
    known = item.casefold() in lists()["religions"]
    return [("", item)] if known and _holds(item, text) else []


def _holds(item: str, text: str) -> bool:
    """Whether what stands behind a state leaves it what it is."""
    return bool(_BEHIND_STATE.match(text, text.find(item) + len(item)))


def _degree(text: str) -> Pairs:
    plain = _DEGREE_END.sub("", text).strip(" .,!")
    return [("", plain)] if len(plain.split()) <= 2 * _MOST_WORDS else []


def _family(text: str) -> Pairs:
    return [("", text.replace(",", ""))]


def _code_language(text: str) -> Pairs:
    return [("", one.value) for one in lookup([text], "code")[:1]]


def _animal(text: str) -> Pairs:
    plain = text.casefold()
    known = lists()["animals"]
    if {plain, plain.removesuffix("s")} & lists()["breeds"]:
        return [("", "dog")]
    one = {
        "puppies": "dog",
        "puppy": "dog",
        "kitten": "cat",
        "kittens": "cat",
        "hund": "dog",
        "katze": "cat",
        "kater": "cat",
        "tabby": "cat",
        "kitty": "cat",
        "kitties": "cat",
        "tomcat": "cat",
    }
    if plain in one:
        return [("", one[plain])]
    single = plain if plain in known else plain.removesuffix("s")
    return [("", one.get(single, single))]


@cache
def _places() -> dict[str, str]:
    return {place.casefold(): place for place in ENGLISH.places}


READINGS: dict[str, Callable[[str], Pairs]] = {
    "allergens": _allergens,
    "animal": _animal,
    "code language": _code_language,
    "condition": _condition,
    "condition of a person": _condition_of_person,
    "count": _count,
    "degree": _degree,
    "diet": _diet,
    "family": _family,
    "format": _format,
    "industry": _industry,
    "items": _items,
    "known name": _known_name,
    "land": _land,
    "learnt": _learnt,
    "name": _name,
    "names": _names,
    "nationality": _nationality,
    "organisation": _organisation,
    "phrase": _phrase,
    "place": _place,
    "quotation": _quotation,
    "religion": _religion,
    "role": _role,
    "sleep": _sleep,
    "spoken": _spoken,
    "wish": _wish,
    "words": _words,
}
