"""Personal data and secrets: what of people a column holds, by its name and by its values."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from ipaddress import ip_address

import msgspec
from msgspec import Struct

from ...text.secrets import find_secrets
from .facts import ColumnFacts, TableFacts
from .names import is_of_people
from .words import word_lists

_MOST = 0.8  # of the values looked at
_HALF = 0.5
_LOOKED_AT = 100
_FEW = 20  # values, of which secrets are looked for
_LONGEST = 200  # characters of a value that may be one
_EMAIL = re.compile(r"[^\s@]{1,64}@[^\s@]+\.[^\s@.]{2,}")
# with a sign that numbers of other things do not have
_PHONE = re.compile(r"(?=(?:\D*\d){7})(?:\+|\(\d|00\d)[\d\s()./x-]{6,24}")
_MAC_ADDRESS = re.compile(r"(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}")
# which secrets numbers prove themselves to be, and what they say of a person
_BY_NUMBER = {"IBAN": "bank account", "social security number": "national id"}


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return _MAC_ADDRESS.fullmatch(text) is not None
    return True


# personal data that have a form, and whether a text has it
_BY_FORM: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("email", _EMAIL.fullmatch),
    ("ip address", _is_address),
    ("phone", _PHONE.fullmatch),
)


class Sensitivity(Struct, frozen=True):
    """What a column holds of people, and how that is known."""

    kind: str
    is_secret: bool = False  # it is not taken at all
    evidence: str = ""


class _Rule(Struct, frozen=True):
    kind: str
    names: tuple[str, ...]


class _Rules(Struct, frozen=True):
    secrets: tuple[_Rule, ...]
    personal: tuple[_Rule, ...]
    names: tuple[_Rule, ...]


@cache
def _rules() -> _Rules:
    text = files(__package__).joinpath("personal_data.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), _Rules)


def find_sensitivity(facts: TableFacts, column: ColumnFacts) -> Sensitivity | None:
    """Say what personal data or secrets a column holds; None: none that can be seen."""
    if column.column.kind in ("boolean", None):
        return None
    rules = _rules()
    is_scalar = column.column.kind in ("string", "integer", "decimal", "json", "enum")
    if is_scalar and (kind := _kind_of_name(column, rules.secrets)):
        return Sensitivity(kind, True, "by its name")
    if found := _by_values(column):
        return found
    if kind := _kind_of_name(column, rules.personal):
        return Sensitivity(kind, evidence="by its name")
    if is_of_people(facts.words) and (kind := _kind_of_name(column, rules.names)):
        return Sensitivity(kind, evidence="by its name")
    return None


def _kind_of_name(column: ColumnFacts, rules: Sequence[_Rule]) -> str:
    forms = word_lists().abbreviations
    words = [part for word in column.words for part in forms.get(word, (word,))[0].split()]
    text = f" {' '.join(words)} "
    # "email_id" holds no address, "address_id" leads to one
    if column.value_class == "number" and column.is_identifier and words[-1] == "id":
        return ""
    for rule in rules:
        if any(f" {name} " in text for name in rule.names):
            return rule.kind
    return ""


def _by_values(column: ColumnFacts) -> Sensitivity | None:
    texts = [value for value in column.profile.values if isinstance(value, str)][:_LOOKED_AT]
    if not texts or column.column.kind != "string":
        return None
    for kind, is_one in _BY_FORM:
        hits = sum(bool(is_one(text.strip())) for text in texts)
        if hits / len(texts) >= _MOST:
            return Sensitivity(kind, evidence="by its values")
    few = [text for text in texts[:_FEW] if len(text) < _LONGEST]
    found = [{secret.kind for secret in find_secrets(text)} for text in few]
    kinds = set().union(*found) if found else set()
    for kind in sorted(kinds):
        if sum(kind in each for each in found) / len(few) >= _HALF:
            known = _BY_NUMBER.get(kind)
            return Sensitivity(known or kind, known is None, "by its values")
    return None
