"""Discovery: a database is looked at, and a plan of it is made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import mean
from typing import Any, TypeAlias

from msgspec.structs import replace

from ...errors import InvalidInputError, SourceError
from ..databases.contract import Database, Table, TableProfile, without_columns
from ..databases.opening import open_database
from ..plan.plan import Plan
from ..plan.planned import (
    UNREADABLE,
    Estimate,
    LeftOut,
    PlannedEdge,
    PlannedField,
    PlannedLink,
    PlannedTable,
    Question,
)
from ..plan.source import check_source_name, name_of_address
from .facts import ColumnFacts, Proposal, ReadRows, TableFacts, gather_facts
from .fields import choose_fields, find_watermark
from .foreign_keys import Contains, ForeignKeys, find_composite_keys, find_foreign_keys
from .keys import find_links, propose_key, propose_pair
from .name_matches import TableNames
from .names import propose_name
from .plan_names import entity_types, name_edges, name_schemas
from .words import snake, split_name

Progress: TypeAlias = Callable[[int, int], None]
_ROWS_FOR_KEYS = 2_000  # read to see whether several columns together are unique
_BYTES_OF_A_ROW = 600  # its handle, its keys and what indexes them
_BYTES_OF_AN_EDGE = 250
_BYTES_OF_A_VALUE = 16  # that is not text, with the name of its field
_EMBEDDED = 200  # texts a second, on one core
# words of columns whose values are often entities, though no table has them
_THINGS = frozenset((
    "city", "country", "region", "department", "category", "brand", "company", "genre", "artist",
    "team", "manufacturer", "vendor", "supplier", "industry", "school", "university", "author",
    "publisher", "project", "campaign", "language", "nationality",
))  # fmt: skip
_FEWEST_ROWS = 20
_MOST_THINGS = 10_000
_SURE = 0.8
_SURE_OF_NAME = 0.6


def discover(
    database: Database,
    name: str,
    tables: Sequence[str] | None = None,
    relationships: bool = True,
    sample: int = 20_000,
    progress: Progress | None = None,
) -> Plan:
    """Look at a database, and propose what becomes of it. Nothing is written anywhere.

    Args:
        name: what the source is to be called.
        tables: only these; views too, if they are named. Default all tables.
        relationships: whether foreign keys are looked for.
        sample: most rows of a table that are looked at; 0 goes by names and declarations alone.
        progress: called with the tables done and how many there are.

    Raises:
        UnknownNameError: there is no such table.
        SourceError: the database cannot be read.
    """
    if sample < 0:
        raise InvalidInputError("a sample has 0 rows or more", remedy="sample=20_000")
    described = database.tables(tables)
    views = [each for each in described if each.is_view and tables is None]
    taken = [each for each in described if each not in views]
    profiles: dict[str, TableProfile] = {}
    total = len(taken)
    unread: list[LeftOut] = []
    for done, table in enumerate(tuple(taken), 1):
        if not table.columns:
            taken.remove(table)
            why = table.withheld or "it has no columns"
            unread.append(LeftOut(table=table.name, reason=f"{UNREADABLE}: {why}"))
            continue
        try:
            if sample:
                profiles[table.name] = database.profile(table, sample)
        except SourceError as error:
            # a table that cannot be read does not affect the others
            if len(taken) == 1:
                raise
            taken.remove(table)
            unread.append(LeftOut(table=table.name, reason=f"{UNREADABLE}: {error.message}"))
            continue
        finally:
            if progress is not None:
                progress(done, total)
        faults = profiles[table.name].unreadable if sample else {}
        unread += [
            LeftOut(table=table.name, column=column, reason=f"{UNREADABLE}: {why}")
            for column, why in faults.items()
        ]
        taken[taken.index(table)] = without_columns(table, faults)

    def read_rows(facts: TableFacts, columns: Sequence[str]) -> Sequence[tuple[Any, ...]]:
        return database.rows(facts.table, columns, after=None, limit=_ROWS_FOR_KEYS)

    plan = propose(
        name,
        taken,
        profiles,
        contains=database.count_contained,
        read_rows=read_rows,
        relationships=relationships,
    )
    views_left = tuple(
        LeftOut(table=view.name, reason="a view: its rows come from other tables") for view in views
    )
    withheld = tuple(
        Question(
            table=table.name,
            question="Is what can be read of it enough?",
            proposal="yes",
            evidence=table.withheld,
        )
        for table in taken
        if table.withheld
    )
    return replace(
        plan,
        kind=database.kind,
        address=database.address,
        questions=(*plan.questions, *withheld),
        left_out=(*plan.left_out, *views_left, *unread),
    )


def propose(
    source: str,
    tables: Sequence[Table],
    profiles: Mapping[str, TableProfile],
    *,
    contains: Contains,
    read_rows: ReadRows,
    relationships: bool = True,
) -> Plan:
    """Propose what becomes of tables, by what they declare and by samples of their rows."""
    facts = gather_facts(tables, profiles)
    index = TableNames(facts)
    keys = {name: key for name, each in facts.items() if (key := propose_key(each, index))}
    found = further = ForeignKeys((), ())
    if relationships:
        found = find_foreign_keys(index, keys, contains)
        further = find_composite_keys(facts, keys, found.edges, read_rows, contains)
    edges = name_edges((*found.edges, *further.edges), facts)
    for name in facts.keys() - keys.keys():
        leading = {edge.columns[0] for edge in edges if edge.table == name}
        if pair := propose_pair(facts[name], leading, read_rows):
            keys[name] = pair
    schemas = name_schemas(facts, source)
    types = entity_types(facts, schemas)

    def take_fields(
        table: TableFacts, columns: Iterable[str], needed: Collection[str] = ()
    ) -> tuple[PlannedField, ...]:
        chosen = choose_fields(table, columns, types[table.name], needed)
        left_out.extend(chosen.left_out)
        questions.extend(chosen.questions)
        return chosen.fields

    left_out: list[LeftOut] = []
    questions: list[Question] = []
    links = find_links(facts, keys, edges, take_fields)
    linked = {link.table for link in links}
    planned: list[PlannedTable] = []
    for name, table in facts.items():
        if name in linked:
            continue
        leading = {column for edge in edges if edge.table == name for column in edge.columns}
        key_columns = keys[name].columns if name in keys else ()
        # a key column is not also the name column
        alone = key_columns if len(key_columns) == 1 else ()
        identifying = {column for column in alone if table.column_of(column).is_identifier}
        proposed = propose_name(table, leading | identifying, facts)
        needed = leading.union(key_columns, proposed.columns if proposed else ())
        fields = take_fields(table, table.columns, needed)
        planned.append(_table(table, schemas[name], types[name], keys.get(name), proposed, fields))
        questions += ask_of_table(planned[-1], keys.get(name), proposed)
        questions += ask_of_entities(table, planned[-1], edges)
    questions += [*ask_of_edges(edges), *found.questions, *further.questions]
    return Plan(
        source=source,
        tables=tuple(planned),
        edges=tuple(_with_types(edge, facts) for edge in edges),
        links=tuple(links),
        questions=tuple(questions),
        left_out=tuple(left_out),
        estimate=_estimate(facts, planned, edges, links),
    )


def _table(
    facts: TableFacts,
    schema_name: str,
    entity_type: str,
    key: Proposal | None,
    name: Proposal | None,
    fields: tuple[PlannedField, ...],
) -> PlannedTable:
    evidence = [f"key: {key.evidence}" if key else "no key: rows are told apart by their content"]
    evidence.append(
        f"name: {name.evidence}" if name else "no name: rows are called by their handle"
    )
    return PlannedTable(
        table=facts.name,
        schema_name=schema_name,
        entity_type=entity_type,
        key=key.columns if key else (),
        key_declared=bool(key and key.declared),
        name=name.columns if name else (),
        fields=fields,
        description=facts.table.comment.strip(),
        watermark=find_watermark(facts),
        rows=facts.rows,
        confidence=key.confidence if key else 0.0,
        evidence="; ".join(evidence),
    )


def _with_types(edge: PlannedEdge, tables: Mapping[str, TableFacts]) -> PlannedEdge:
    """The edge, with the type of its target if that is not in the plan."""
    if edge.target in tables:
        return edge
    return replace(edge, entity_type=snake("_".join(split_name(edge.target.rpartition(".")[2]))))


def discover_at(
    url: str,
    name: str = "",
    tables: Sequence[str] | None = None,
    relationships: bool = True,
    sample: int = 20_000,
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """Open a database and `discover` it; its `name` is by default that of the database."""
    database = open_database(url)
    try:
        called = check_source_name(name or name_of_address(database.address))
        return discover(database, called, tables, relationships, sample, progress)
    finally:
        database.close()


def _estimate(
    facts: Mapping[str, TableFacts],
    tables: Sequence[PlannedTable],
    edges: Sequence[PlannedEdge],
    links: Sequence[PlannedLink],
) -> Estimate:
    linked = {link.table for link in links}
    rows = sum(facts[table.table].rows or 0 for table in tables)
    made = sum(facts[name].rows or 0 for name in linked)
    for edge in edges:
        if edge.table not in linked:
            made += round((facts[edge.table].rows or 0) * _filled(facts[edge.table], edge))
    size = rows * _BYTES_OF_A_ROW + made * _BYTES_OF_AN_EDGE
    embedded = 0
    for table in tables:
        known = facts[table.table]
        width = sum(_bytes_of(known.column_of(field.column)) for field in table.fields)
        size += round((known.rows or 0) * width)
        if any(field.field.searchable for field in table.fields):
            embedded += known.rows or 0
    return Estimate(
        rows=rows,
        edges=made,
        megabytes=round(size / 1e6, 1),
        embedding_seconds=round(embedded / _EMBEDDED, 1),
    )


def _filled(facts: TableFacts, edge: PlannedEdge) -> float:
    if not facts.is_sampled:
        return 1.0
    return min(facts.column_of(name).filled for name in edge.columns) / facts.profile.sampled


def _bytes_of(column: ColumnFacts) -> float:
    return _BYTES_OF_A_VALUE + (mean(map(len, column.texts)) if column.texts else 0)


# -- questions -------------------------------------------------------------------------------------


def ask_of_edges(edges: Iterable[PlannedEdge]) -> Iterator[Question]:
    """Ask of foreign keys that were inferred, and are not sure."""
    for edge in edges:
        if not edge.declared and edge.confidence < _SURE:
            yield Question(
                table=edge.table,
                columns=edge.columns,
                question=f"Does it lead to {edge.target}.{', '.join(edge.target_columns)}?",
                proposal="yes",
                evidence=edge.evidence,
            )


def ask_of_table(
    table: PlannedTable, key: Proposal | None, name: Proposal | None
) -> Iterator[Question]:
    """Ask of a table's key, name, labels and watermark where they are not sure."""
    ask = partial(Question, table=table.table)
    if key is None:
        yield ask(
            question="Which columns tell its rows apart?",
            proposal="none: a row that changes becomes another one",
        )
    elif not key.declared and key.confidence < _SURE:
        question = "Does this tell its rows apart?"
        yield ask(columns=key.columns, question=question, proposal="yes", evidence=key.evidence)
    if name is not None and name.confidence < _SURE_OF_NAME:
        question = "Is this what people call a row?"
        yield ask(columns=name.columns, question=question, proposal="yes", evidence=name.evidence)
    for field in table.fields:
        if field.field.is_key and field.field.personal:
            yield ask(
                columns=(field.column,),
                question=f"Shall rows be found by their {field.field.personal}?",
                proposal="yes",
                evidence=field.evidence,
            )
    if table.watermark:
        yield ask(
            columns=(table.watermark,),
            question="Does it change whenever a row is written?",
            proposal="yes: only rows with newer ones are read again",
        )


def ask_of_entities(
    facts: TableFacts, table: PlannedTable, edges: Iterable[PlannedEdge]
) -> Iterator[Question]:
    """Ask of columns of text whose repeated values may be things that rows lead to."""
    leading = {column for edge in edges if edge.table == table.table for column in edge.columns}
    for field in table.fields:
        column = facts.column_of(field.column)
        is_plain = field.field.kind == "string" and not field.field.personal
        if not is_plain or field.column in (*table.key, *table.name, *leading):
            continue
        distinct = column.profile.distinct
        repeats = column.filled >= _FEWEST_ROWS and 2 * distinct <= column.filled
        if column.words[-1] in _THINGS and repeats and 1 < distinct <= _MOST_THINGS:
            thing = column.words[-1]
            yield Question(
                table=table.table,
                columns=(field.column,),
                question=f"Is each {thing} a thing that rows lead to?",
                proposal=f'no; it is if "{table.table}.{field.column}" is mapped to "{thing}"',
                evidence=f"{distinct:,} different ones in {column.filled:,} rows seen",
            )
