"""The schemas of a memory: what kinds of records there are, by name."""

from __future__ import annotations

from ..errors import UnknownNameError
from ..model import Entity, Moment, Resource

__all__ = ["SCHEMAS", "check_schema"]

SCHEMAS: dict[str, type[Resource | Entity | Moment]] = {
    "resources": Resource,
    "entities": Entity,
    "moments": Moment,
}


def check_schema(schema: str) -> str:
    """Return the schema's name, if there is one of that name.

    Raises:
        UnknownNameError: there is none.
    """
    if schema not in SCHEMAS:
        raise UnknownNameError("schema", schema, list(SCHEMAS))
    return schema
