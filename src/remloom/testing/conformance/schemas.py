"""The schemas that a case of the contract is run for: the built-in ones, and one that is
registered, with rows like them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...model import Entity, Field, Moment, Record, Resource, Row, SchemaDefinition
from ...store.contract import Store
from ...store.definitions import definition_entries

# its rows have a name and a text, as entities do; one that is given no handle has its name for it
NOTES = SchemaDefinition(
    schema_name="notes",
    version=1,
    rows_since=1,
    base_fields={
        "age": Field(kind="integer"),
        "status": Field(),
        "tags": Field(list=True),
        "nested": Field(kind="json"),
        "ordinal": Field(kind="integer"),
        "language": Field(),
        "category": Field(),
    },
)


class RecordSchema(Struct, frozen=True):
    """A schema, and how the cases make records of it.

    Attributes:
        free: the field that values of any name are in.
        data: the field that what is known of a record is in.
    """

    name: str
    free: str
    data: str
    make_record: Callable[..., Record]

    def make(
        self,
        name: str = "",
        text: str = "",
        *,
        id: str = "",
        aliases: Sequence[str] = (),
        values: dict[str, Any] | None = None,
        type: str = "",
        embedding: Sequence[float] | None = None,
        expires_at: datetime | None = None,
        created_at: datetime | None = None,
    ) -> Record:
        """Make a record.

        Args:
            text: what is searched and embedded of it, perhaps beside its name.
            aliases, type: only of schemas in `NAMED`.
            values: of `free`.
        """
        given: dict[str, Any] = {self.free: values} if values else {}
        if aliases:
            given["aliases"] = tuple(aliases)
        if type:
            given["type"] = type
        given |= {"embedding": embedding, "expires_at": expires_at, "created_at": created_at}
        return self.make_record(name, text, id=id, **given)

    def make_with(self, data: dict[str, Any], **given: Any) -> Record:
        """Make a record of which this is known; see `make`."""
        return replace(self.make(**given), **{self.data: data})


def _resource(name: str, text: str, **given: Any) -> Resource:
    return Resource(name=name, content=text, **given)


def _entity(name: str, text: str, **given: Any) -> Entity:
    return Entity(name=name, summary=text, **given)


def _moment(name: str, text: str, **given: Any) -> Moment:
    return Moment(name=name, summary=text, **given)


def _row(name: str, text: str, **given: Any) -> Row:
    return Row(schema=NOTES.schema_name, name=name, summary=text, **given)


_ROWS = RecordSchema(NOTES.schema_name, "metadata", "fields", _row)
EVERY = (
    RecordSchema("resources", "metadata", "metadata", _resource),
    RecordSchema("entities", "properties", "properties", _entity),
    RecordSchema("moments", "metadata", "metadata", _moment),
    _ROWS,
)
# those whose records have aliases
NAMED = (EVERY[1], _ROWS)


def register(store: Store, *definitions: SchemaDefinition) -> None:
    """Register schemas, as they are."""
    changes = len(store.schemas())
    for number, definition in enumerate(definitions, changes + 1):
        store.kv.put(definition_entries(definition, number))
