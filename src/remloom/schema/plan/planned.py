"""What a plan is made of: values that say what becomes of tables, columns and foreign keys."""

from __future__ import annotations

from msgspec import Struct

from ...model import Field

UNREADABLE = "cannot be read"  # how the reason begins of what a database could not give


class PlannedField(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A column that becomes a field of the rows."""

    column: str
    name: str  # of the field
    field: Field
    is_unique: bool = False  # as far as was seen, no two rows have the same value
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
    description: str = ""
    watermark: str = ""  # column that grows whenever a row is written
    rows: int | None = None
    confidence: float = 1.0  # of the key
    evidence: str = ""


class PlannedEdge(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Columns that lead from rows of one table to those of another: a foreign key."""

    table: str
    columns: tuple[str, ...]
    target: str = ""  # table; empty: things that have no table, each called by its value
    target_columns: tuple[str, ...] = ()
    entity_type: str = ""  # of what it leads to, where `target` is not a table of the plan
    name: str = ""  # type of the edge: "belongs_to"
    inverse: str = ""  # type of a second edge, back; empty: none is written
    declared: bool = False  # by the database; else inferred, or a person wrote it
    confidence: float = 1.0
    evidence: str = ""


class PlannedLink(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A link table: its rows are edges between those of two others, not rows of their own."""

    table: str
    owner: str  # table whose rows have the edges
    owner_columns: tuple[str, ...]  # of the link table; they lead to the owner's key
    target: str  # table that the edges lead to
    target_columns: tuple[str, ...]  # of the link table; they lead to the target's key
    name: str  # type of the edges: "contains"
    inverse: str = ""
    fields: tuple[PlannedField, ...] = ()  # its other columns, which become properties of the edges
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


class PlanContents(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that a plan says of one database."""

    source: str  # the name that it is synced by: "crm"
    kind: str = ""  # of the database
    address: str = ""  # where it is, without credentials
    tables: tuple[PlannedTable, ...] = ()
    edges: tuple[PlannedEdge, ...] = ()  # every foreign key, those of link tables too
    links: tuple[PlannedLink, ...] = ()
    questions: tuple[Question, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    estimate: Estimate = Estimate()
