"""Values as their slots keep them: one form for all ways to say the same."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from ...errors import InvalidInputError, LabelError
from ...labels import key
from ...text.analysis import STOP_WORDS
from ..evidence.claim import Value
from .slot import Slot
from .slot_names import singular

MAX_VALUE_LENGTH = 200  # characters

_FLAGS = {
    **dict.fromkeys(("yes", "y", "true", "on", "1", "always", "allowed", "enabled", "ja"), True),
    **dict.fromkeys(("no", "n", "false", "off", "0", "never", "disabled", "none", "nein"), False),
}
# thousands by commas, a unit behind it: "32,000", "16 GB", "8-core"
_NUMBER = re.compile(r"(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?:[\s-]*[a-zA-Z%]{1,12}\.?){0,2}")
_LARGEST = 1e12
_NAME = "identity.name"
_LONGEST_NAME = 8  # words
# Line breaks, controls, and formatting that nobody sees: with these a value could look like
# something else than it is, or carry words of its own. Scripts and emoji need joiners and marks.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_NEEDED = frozenset("\t\u200c\u200d\u200e\u200f")
_BETWEEN_ITEMS = re.compile(r"[,;]")
_AND = re.compile(r"\b(?:and|or)\s")


def canonical(slot: Slot, value: Value) -> Value:
    """Return a value as its slot keeps it; of a list, one item. Doing so twice changes nothing.

    Raises:
        InvalidInputError: it is none that the slot can have, is empty, longer than
            `MAX_VALUE_LENGTH`, or has line breaks or other control characters.
    """
    if slot.kind == "flag":
        return _flag(slot, value)
    if slot.kind == "number":
        return _number(slot, value)
    text = _text(slot, value)
    if slot.id == _NAME and _is_sentence(text):
        raise InvalidInputError(
            f"{text!r} is a sentence, and no name",
            remedy="give the name alone, such as 'Dr. Okafor'",
            slot=slot.id,
        )
    if slot.kind == "text" and not slot.values and not slot.synonyms:
        return text
    known = _forms(slot).get(_form(text))
    if known is not None:
        return known
    if slot.values and not slot.open and slot.kind != "text":
        raise InvalidInputError(
            f"{slot.label} is one of {', '.join(slot.values)}, not {text!r}",
            remedy=f"for example {slot.values[0]!r}",
            slot=slot.id,
            values=list(slot.values),
        )
    return text


def split_items(slot: Slot, value: Value | Iterable[Value]) -> list[Value]:
    """The values in what was said of a slot: of a list those between commas, else the value itself.

    An "and" parts two items only where commas part others: "salt and pepper" is one.
    """
    if not isinstance(value, str | int | float):
        return [item for one in value for item in split_items(slot, one)]
    if slot.kind != "list" or slot.verbatim or not isinstance(value, str):
        return [value]
    # a known value may have a comma or "and" of its own
    if _form(value) in _forms(slot):
        return [value]
    items = _BETWEEN_ITEMS.split(value)
    if len(items) > 1:
        items[-1:] = _AND.split(items[-1], maxsplit=1)
    return [item.strip() for item in items if item.strip()] or [value]


def _flag(slot: Slot, value: Value) -> bool:
    if isinstance(value, bool):
        return value
    known = _FLAGS.get(_form(_text(slot, value)))
    if known is None:
        raise InvalidInputError(
            f"{slot.label} is yes or no, not {value!r}", remedy="say true or false", slot=slot.id
        )
    return known


def _number(slot: Slot, value: Value) -> int | float:
    shown = repr(value) if isinstance(value, str | bool | float) else "this"
    if isinstance(value, str):
        found = _NUMBER.fullmatch(_text(slot, value))
        value = float(found[1].replace(",", "") + (found[2] or "")) if found else math.nan
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= _LARGEST:
        raise InvalidInputError(
            f"{slot.label} is a number from 0 up, not {shown}",
            remedy="give digits, such as 16",
            slot=slot.id,
        )
    return int(value) if value == int(value) else float(value)


def _is_sentence(text: str) -> bool:
    """Whether a text says something, instead of naming somebody: "Anna of Kleve" is a name."""
    words = text.split()
    small = [word for word in words if word.strip(",.;:!?").replace("'", "") in STOP_WORDS]
    return len(words) > _LONGEST_NAME or len(small) > 1 or text.endswith(("?", "!", ";"))


def _text(slot: Slot, value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and abs(value) <= _LARGEST:
        return str(value)
    if not isinstance(value, str):
        raise InvalidInputError(
            f"{slot.label} is a text, not a {type(value).__name__} such as this",
            remedy="give one line of plain text",
            slot=slot.id,
        )
    # too long a text is not worth normalising
    if len(value) > 2 * MAX_VALUE_LENGTH:
        raise _too_long(slot, value)
    text = unicodedata.normalize("NFC", value).strip()
    for char in text:
        if unicodedata.category(char) in _UNSEEN and char not in _NEEDED:
            raise InvalidInputError(
                f"a value of {slot.label} has {char!a}, which nobody can see",
                remedy="give one line of plain text",
                slot=slot.id,
            )
    text = " ".join(text.split())
    if not text:
        raise InvalidInputError(
            f"a value of {slot.label} is empty",
            remedy="give a value, or retire what is known",
            slot=slot.id,
        )
    if len(text) > MAX_VALUE_LENGTH:
        raise _too_long(slot, text)
    return text


def _too_long(slot: Slot, text: str) -> InvalidInputError:
    return InvalidInputError(
        f"a value of {slot.label} has {len(text):,} characters, {MAX_VALUE_LENGTH} are allowed",
        remedy="say it briefly",
        slot=slot.id,
    )


def _form(text: str) -> str:
    """What ways to write a value have in common, in the singular; none of only punctuation."""
    try:
        return "-".join(map(singular, key(text).split("-")))
    except LabelError:
        return text


def _forms(slot: Slot) -> dict[str, str]:
    return _forms_of(slot.values, tuple(slot.synonyms.items()))


@lru_cache(maxsize=1024)
def _forms_of(values: tuple[str, ...], synonyms: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """The form of everything that is known to be said of a slot → the value that it is."""
    # a value stands for itself, whatever a synonym says
    forms = {_form(one): value for one, value in synonyms}
    return {**forms, **{_form(value): value for value in (*forms.values(), *values)}}
