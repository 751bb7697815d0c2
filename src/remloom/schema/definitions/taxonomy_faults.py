"""The faults of a taxonomy: circles, and names that are none."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import asdict

from ... import labels
from ...errors import DefinitionError, InvalidInputError, LabelError
from ...model import Taxonomy
from .definition_faults import Fault


def check_taxonomy(taxonomy: Taxonomy) -> Taxonomy:
    """Return a taxonomy in which nothing is below itself, and nothing means itself.

    Raises:
        DefinitionError: names every fault.
    """
    try:
        taxonomy = msgspec.convert(msgspec.to_builtins(taxonomy), Taxonomy)
    except msgspec.ValidationError as error:
        raise InvalidInputError(
            f"a taxonomy has names for names: {error}",
            remedy='Taxonomy(parents={"customer": "party"})',
        ) from error
    found = [
        *_faults("parents", taxonomy.parents, "is a kind of itself"),
        *_faults("synonyms", taxonomy.synonyms, "means itself"),
    ]
    if found:
        raise DefinitionError("taxonomy", [asdict(fault) for fault in found])
    return taxonomy


def _faults(part: str, above: dict[str, str], circular: str) -> Iterator[Fault]:
    keys: dict[str, str] = {}
    for name, other in above.items():
        try:
            key, key_above = labels.key(name), labels.key(other)
        except LabelError as error:
            yield Fault(f"{part}.{name}", error.message, "give it a name")
            continue
        if keys.setdefault(key, key_above) != key_above:
            yield Fault(f"{part}.{name}", f"{name} is there twice", "say it once")
    for name in above:
        if _is_circular(name, keys):
            yield Fault(f"{part}.{name}", f"{name} {circular}", "leave one of the circle out")


def _is_circular(name: str, above: dict[str, str]) -> bool:
    try:
        start = key = labels.key(name)
    except LabelError:
        return False
    for _ in above:
        key = above.get(key, "")
        if key == start:
            return True
    return False
