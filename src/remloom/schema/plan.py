"""A plan: what discovery proposes of a database, to be edited before anything is written."""

from __future__ import annotations

from msgspec import Struct

from ..model import Field, SchemaDefinition

__all__ = ["Estimate", "LeftOut", "Plan", "PlannedEdge", "PlannedField", "PlannedTable", "Question"]


class PlannedField(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A column that becomes a field of the rows."""

    column: str
    name: str  # of the field
    field: Field
    evidence: str = ""


class PlannedTable(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A table whose rows become rows of a schema."""

    table: str
    schema_name: str
    entity_type: str  # "customer", what a handle begins with
    key: tuple[str, ...]  # columns that tell its rows apart; empty: all of them, by their content
    key_declared: bool = False
    name: tuple[str, ...] = ()  # columns of the human name; empty: rows are named by their handle
    fields: tuple[PlannedField, ...] = ()
    watermark: str = ""  # column that grows whenever a row is written
    rows: int | None = None
    confidence: float = 1.0  # of key and name
    evidence: str = ""


class PlannedEdge(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Columns that lead from rows of one table to those of another."""

    table: str
    columns: tuple[str, ...]
    target: str  # table
    target_columns: tuple[str, ...]
    name: str = ""  # type of the edge: "belongs_to"
    inverse: str = ""  # type of a second edge, back; empty: none is written
    through: str = ""  # link table whose rows are these edges, not rows of their own
    declared: bool = True  # by the database; else inferred
    confidence: float = 1.0
    evidence: str = ""


class Question(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What discovery could not decide, with what it would do if nobody answers."""

    table: str
    columns: tuple[str, ...] = ()
    question: str
    proposal: str = ""  # what holds unless somebody edits the plan
    evidence: str = ""


class LeftOut(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A table, or a column of one, that is not taken, and why."""

    table: str
    column: str = ""
    reason: str


class Estimate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What taking it all would come to."""

    rows: int = 0
    edges: int = 0
    megabytes: float = 0.0
    embedding_seconds: float = 0.0


class Plan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What discovery proposes of one database."""

    source: str  # the name that it is synced by: "crm"
    kind: str = ""  # of the database
    address: str = ""  # where it is, without credentials
    tables: tuple[PlannedTable, ...] = ()
    edges: tuple[PlannedEdge, ...] = ()
    questions: tuple[Question, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    estimate: Estimate = Estimate()

    @property
    def names(self) -> dict[str, str]:
        """Table -> column of the human name; several columns are joined by ", "."""
        return {table.table: ", ".join(table.name) for table in self.tables if table.name}

    @property
    def schemas(self) -> tuple[SchemaDefinition, ...]:
        """The definitions that registering the plan registers."""
        raise NotImplementedError
