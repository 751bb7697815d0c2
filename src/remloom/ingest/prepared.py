"""Everything that a document becomes, ready to be written."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from ..model import Edge, Entity, Moment, Record, Resource


class Prepared(Struct, frozen=True):
    """Everything that a document becomes."""

    uri: str
    resources: tuple[Resource, ...]  # in order, each with its id
    others: tuple[Entity | Moment, ...]
    edges: tuple[Edge, ...]
    # it is all of its source: what else was read from there goes; else it follows that
    whole: bool = True
    stored_ids: tuple[str, ...] = ()  # of resources that were given, and are stored already
    changed: tuple[Resource, ...] = ()  # that were read before, and have another context now
    # records that must still be so when it is written: id to `updated_at`, see
    # `store.batch.Preconditions`
    expected: dict[str, datetime | None] = {}

    @property
    def ids(self) -> list[str]:
        """The ids that stay the same when the same is read again."""
        return [record.id for record in (*self.resources, *self.others) if record.id]

    @property
    def items(self) -> list[Record | Edge]:
        return [*self.resources, *self.changed, *self.others, *self.edges]
