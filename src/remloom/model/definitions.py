"""Definitions of schemas: which fields the rows of a registered schema have, and what is done with
them; and the taxonomy: which types are kinds of others, or mean the same.

Source: seed design 5, "Schema registry extension", "Ontology Management".
"""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias, get_args

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, force_setattr, replace

from .. import labels
from ..errors import InvalidInputError

Kind: TypeAlias = Literal[
    "string", "integer", "float", "decimal", "boolean", "date", "datetime", "enum", "json"
]
KINDS: tuple[Kind, ...] = get_args(Kind)

# what else a kind is called, in the seed and in databases
_SYNONYMS: dict[str, Kind] = {
    "str": "string", "text": "string", "uuid": "string", "int": "integer", "bigint": "integer",
    "number": "float", "double": "float", "numeric": "decimal", "bool": "boolean",
    "timestamp": "datetime", "jsonb": "json", "object": "json",
}  # fmt: skip
_LIST = re.compile(r"list\[(.*)\]|(.*)\[\]")
_ENUM = re.compile(r"enum\s*\((.*)\)", re.DOTALL)


class Field(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a field of a row may hold, and what is done with it.

    >>> Field.parse("enum(call, email)").values
    ('call', 'email')
    >>> str(Field.parse("integer[]"))
    'list[integer]'
    """

    kind: Kind = "string"
    list: bool = False  # it holds any number of such values
    values: tuple[str, ...] = ()  # that an enum may have
    required: bool = False  # a row without it is refused
    default: Any | UnsetType = UNSET  # of rows that do not have it
    description: str = ""  # for those who ask of the schema, agents among them
    is_key: bool = False  # its value is a further label of the row, by which LOOKUP finds it
    searchable: bool = False  # its words are found by text and by meaning
    personal: str = ""  # kind of personal data in it ("email", "phone"); empty: none is known of

    @classmethod
    def parse(cls, text: str, **changes: Any) -> Field:
        """Read a type as the seed writes it: "string", "float", "enum(call,email)", "jsonb".

        Raises:
            InvalidInputError: there is no such kind.
        """
        if found := _LIST.fullmatch(text.strip()):
            item = cls.parse(found[1] or found[2])
            if item.list:
                raise InvalidInputError(
                    f"{text.strip()[:60]!r} is a list of lists",
                    remedy="make it a field of kind json",
                )
            return replace(item, list=True, **changes)
        if found := _ENUM.fullmatch(text.strip()):
            parts = found[1].split(",") if found[1].strip() else []
            values = tuple(part.strip().strip("'\"") for part in parts)
            return cls(kind="enum", values=values, **changes)
        name = text.strip().lower()
        kind = _SYNONYMS.get(name, name)
        if kind not in KINDS:
            raise InvalidInputError(
                f"there is no type {text.strip()[:60]!r} of a field",
                remedy=_kinds_like(name),
            )
        return cls(kind=kind, **changes)

    def __str__(self) -> str:
        kind = f"enum({', '.join(self.values)})" if self.kind == "enum" else self.kind
        return f"list[{kind}]" if self.list else kind


def _kinds_like(name: str) -> str:
    from difflib import get_close_matches  # only on the way to an error

    nearest = get_close_matches(name, [*KINDS, *_SYNONYMS], n=1)
    hint = f"did you mean {nearest[0]}? " if nearest else ""
    return f"{hint}there are {', '.join(KINDS)}, enum(a, b, …) and list[…] of these"


class EdgeDefinition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An edge that rows of a schema have: which other rows it leads to, and by which field."""

    name: str  # the type of the edge: "belongs_to"
    fields: tuple[str, ...] = ()  # whose values say where it leads: ("customer_id",)
    target: str = ""  # schema of the rows that it leads to
    entity_type: str = ""  # of what it leads to: "customer"
    inverse: str = ""  # type of a second edge, back; empty: none is written
    description: str = ""


class SchemaDefinition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A schema that a tenant registers: its rows are records like resources and entities.

    >>> calls = SchemaDefinition(schema_name="calls", base_fields={"outcome": "string"})
    >>> calls.base_fields["outcome"].kind
    'string'
    """

    schema_name: str
    tenant_id: str = ""  # set when it is registered
    # counts from 1 with every change; 0: not registered yet
    version: int = 0
    # no stored row has the form of an earlier version; below `version` until `migrate` raises it
    rows_since: int = 0
    description: str = ""
    base_fields: dict[str, Field] = {}  # types as text are read by `Field.parse`
    metadata_schema: dict[str, Any] = {}  # JSON Schema of a row's `metadata`; empty: anything
    # of its rows; the first is that of a row without one, and what its handle begins with
    entity_types: tuple[str, ...] = ()
    edge_types: tuple[str, ...] = ()  # of edges from its rows; empty: any
    graph_enabled: bool = True
    handle: tuple[str, ...] = ()  # fields that make a row's handle: ("customer_id",)
    name_fields: tuple[str, ...] = ()  # fields that make a row's name, joined by a blank
    edges: tuple[EdgeDefinition, ...] = ()
    renamed: dict[str, str] = {}  # earlier name of a field -> its name now
    source: str = ""  # the database that it was discovered in, by the name it is synced by

    def __post_init__(self) -> None:
        fields = {
            name: Field.parse(field) if isinstance(field, str) else field
            for name, field in self.base_fields.items()
        }
        force_setattr(self, "base_fields", fields)
        for name in ("entity_types", "edge_types", "handle", "name_fields", "edges"):
            force_setattr(self, name, tuple(getattr(self, name)))

    def as_dict(self) -> dict[str, Any]:
        """Show it as plain values, each field with what is said of it."""
        return asdict(self)


class Taxonomy(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tree of types of entities, and synonyms of types of edges. Spellings of one key are one.

    >>> taxonomy = Taxonomy(
    ...     parents={"customer": "party", "reseller": "customer"},
    ...     synonyms={"owned_by": "belongs_to"},
    ... )
    >>> taxonomy.types_below("party")
    ('party', 'customer', 'reseller')
    >>> taxonomy.edge_types_like("Belongs To")
    ('Belongs To', 'owned_by')
    """

    parents: dict[str, str] = {}  # type of entities -> the type that it is a kind of
    synonyms: dict[str, str] = {}  # type of edges -> the standard type that it means

    def types_below(self, type: str) -> tuple[str, ...]:
        """Return a type of entities and those that are kinds of it, at any depth."""
        found = {labels.key(type): type}
        waiting = [*found]
        while waiting:
            parent = waiting.pop(0)
            for child, above in self.parents.items():
                if labels.key(above) == parent and labels.key(child) not in found:
                    found[labels.key(child)] = child
                    waiting.append(labels.key(child))
        return tuple(found.values())

    def edge_types_like(self, type: str) -> tuple[str, ...]:
        """Return a type of edges and those that mean the same."""
        standard = self._standard(type)
        found = {labels.key(type): type}
        for name in (*self.synonyms, *self.synonyms.values()):
            if self._standard(name) == standard:
                found.setdefault(labels.key(name), name)
        return tuple(found.values())

    def _standard(self, type: str) -> str:
        """Return the key of the standard type of edges that a type means."""
        means = {labels.key(name): labels.key(other) for name, other in self.synonyms.items()}
        key = labels.key(type)
        # a taxonomy that was checked has no circles
        for _ in means:
            key = means.get(key, key)
        return key
