"""Rows of several sources that are one thing: found by what identifies them, or said by a person.

What identifies the rows of a table is in its plan (`identified_by`). Rows of two tables whose types
are the same, but for what is behind a slash, are one thing if they have such a value in common, and
if it is clear: a value of several rows of one table identifies none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import combinations
from typing import Any, TypeAlias
from unicodedata import normalize

from msgspec import Struct
from msgspec.structs import replace

from ... import labels
from ...engine.fetching import may_be_id
from ...errors import ConflictError, InvalidInputError, NotFoundError
from ...model import Edge, EdgeKey, Row
from ...model.edge_types import SAME_AS
from ...store.batch import Batch
from ...store.contract import Reads
from ...store.rules.row_rules import field_texts
from ...store.rules.validation import build
from ...store.united import EVIDENCE, PERSON, PLAN, SAID_BY, SEPARATED
from ..plan.source import Source
from .report import SHOWN, SameAs
from .rows import rows_with_key

_ROUNDS = 4  # in which rows are looked for that share a value with those of the round before
_MOST = 50  # records with one label: of more, none is identified by it
_AT_ONCE = 500  # rows that one transaction looks at

_Pair: TypeAlias = tuple[str, str]  # keys of two handles, in their order


class Identity(Struct, frozen=True):
    """What identifies the rows of a table, in whatever source."""

    uri: str  # "crm/customers"
    type: str  # of entities, without what is behind a slash
    fields: tuple[str, ...]

    def values_of(self, row: Row) -> dict[str, tuple[str, str]]:
        """The values that identify a row, each with its field and as it is written."""
        found: dict[str, tuple[str, str]] = {}
        for field in self.fields:
            for text in filter(labels.is_label, field_texts(row, [field])):
                found.setdefault(_value(text), (field, text))
        return found


def identities_of(sources: Iterable[Source]) -> dict[str, Identity]:
    """What the plans of sources say of identity, by the `uri` of rows."""
    found = {}
    for source in sources:
        for table in source.plan.tables:
            by_column = {field.column: field.name for field in table.fields}
            fields = tuple(by_column[column] for column in table.identified_by)
            if fields:
                uri = f"{source.name}/{table.table}"
                found[uri] = Identity(uri, type_root(table.entity_type), fields)
    return found


def type_root(type: str) -> str:
    return labels.try_key(type.partition("/")[0])


def _value(text: str) -> str:
    """A value without case and needless blanks. A label has no separators either, which tell two
    addresses apart: `a_b@c.example` and `a-b@c.example`."""
    return " ".join(normalize("NFKC", text).casefold().split())


# -- by what identifies them -----------------------------------------------------------------------


class Uniter:
    """Keeps what is united as the plans say, while rows come and go.

    Args:
        update: writes what it is given in one transaction.
    """

    def __init__(
        self,
        update: Callable[[Callable[[Reads], Batch]], Any],
        identities: Mapping[str, Identity],
        tenant: str,
    ) -> None:
        self._update = update
        self._identities = identities
        self._tenant = tenant
        self.same_as: list[SameAs] = []
        self.united = 0
        self.separated = 0

    def compares(self, *rows: Row) -> bool:
        """Whether the plans say what identifies these rows."""
        return all(row.uri in self._identities for row in rows)

    def look_at(self, rows: Iterable[Row]) -> None:
        """Look at rows as they are, and as they were before or until they were gone."""
        keys: set[str] = set()
        for row in rows:
            keys |= {labels.key(row.handle), *map(labels.key, self._texts(row))}
            if len(keys) > _AT_ONCE:
                self._look_at(keys)
                keys.clear()
        if keys:
            self._look_at(keys)

    def _texts(self, row: Row) -> Iterator[str]:
        if identity := self._identities.get(row.uri):
            yield from (text for _, text in identity.values_of(row).values())

    def _look_at(self, keys: Collection[str]) -> None:
        found: list[_Comparison] = []

        def work(reads: Reads) -> Batch:
            found[:] = [_Comparison(reads, self._identities, keys)]
            gone, edges = found[0].changes()
            return build(edges, tenant=self._tenant, model="", deleted_edges=gone)

        self._update(work)
        (compared,) = found
        self.united += compared.united
        self.separated += compared.separated
        self.same_as += compared.told[: SHOWN - len(self.same_as)]


class _Comparison:
    """Compares what is united of the rows with some labels with what should be."""

    def __init__(
        self, reads: Reads, identities: Mapping[str, Identity], keys: Collection[str]
    ) -> None:
        self._reads = reads
        self._identities = identities
        self._crowded: set[str] = set()  # keys that too many records have
        self._rows: dict[str, Row] = {}  # by the key of the handle
        self._values: dict[str, dict[str, tuple[str, str]]] = {}  # of each row
        self._core: set[str] = set()
        self.told: list[SameAs] = []
        self.united = self.separated = 0
        self._load(set(keys))
        self._joins = Joins(reads, self._rows)

    def changes(self) -> tuple[list[EdgeKey], list[Edge]]:
        """The edges that go, and those that come."""
        wanted = self._wanted()
        gone: list[EdgeKey] = []
        edges: list[Edge] = []
        for pair, edge in [*self._joins.edges.items()]:
            is_planned = edge.properties.get(SAID_BY) == PLAN and not is_apart(edge)
            if not is_planned or self._core.isdisjoint(pair):
                continue
            if edge.properties[EVIDENCE] == wanted.get(pair):
                del wanted[pair]
                continue
            gone += _keys(pair)
            if pair in wanted:
                edges += self._edges(pair, wanted.pop(pair))
            else:
                self._joins.part(pair)
                self.separated += 1
                self._tell(pair, separated=True)
        for pair, evidence in wanted.items():
            if self._joins.holds(pair):
                # a person said so
                continue
            if why := self._obstacle(pair):
                self._tell(pair, why)
                continue
            self._joins.join(pair)
            edges += self._edges(pair, evidence)
            self.united += 1
            self._tell(pair)
        return gone, edges

    def _load(self, waiting: set[str]) -> None:
        """Load the rows with these labels, and those that share a value with them."""
        tried: set[str] = set()
        for number in range(_ROUNDS):
            found = self._find(waiting)
            if not number:
                self._core = set(found)
            self._rows |= found
            tried |= waiting
            waiting = set()
            for key, row in found.items():
                identity = self._identities.get(row.uri)
                values = self._values[key] = identity.values_of(row) if identity else {}
                waiting |= {labels.key(text) for _, text in values.values()} - tried
            if not waiting:
                return

    def _find(self, keys: Collection[str]) -> dict[str, Row]:
        found = {}
        for key, records in self._reads.records.lookup(sorted(keys), edges=0, limit=_MOST).items():
            if len(records) == _MOST:
                self._crowded.add(key)
            for row in records:
                if isinstance(row, Row):
                    own = labels.key(row.handle)
                    if (row.uri in self._identities or own == key) and own not in self._rows:
                        found[own] = row
        return found

    def _wanted(self) -> dict[_Pair, list[str]]:
        """What should be united as what identifies it says, with that."""
        sharing: dict[str, dict[str, list[str]]] = {}  # value -> uri -> keys of rows
        for key, values in sorted(self._values.items()):
            for value in values:
                sharing.setdefault(value, {}).setdefault(self._rows[key].uri, []).append(key)
        wanted: dict[_Pair, list[str]] = {}
        for value, by_uri in sorted(sharing.items()):
            for pair in self._identified_by(value, by_uri):
                wanted.setdefault(pair, []).append(self._evidence(pair, value))
        self._drop_ambiguous(wanted)
        return {pair: why for pair, why in wanted.items() if not self._core.isdisjoint(pair)}

    def _identified_by(self, value: str, by_uri: Mapping[str, list[str]]) -> list[_Pair]:
        """The pairs that a value says are one: none, if several rows of one source have it, in one
        table or as things of two types."""
        by_source: dict[str, list[str]] = {}
        for uri in by_uri:
            by_source.setdefault(uri.partition("/")[0], []).append(uri)
        several = [keys for keys in by_uri.values() if len(keys) > 1]
        several += [
            [by_uri[uri][0] for uri in uris]
            for uris in by_source.values()
            if len({self._identities[uri].type for uri in uris}) > 1
        ]
        for first, second, *_ in several:
            self._tell((first, second), "both have the same value, so it identifies neither")
        if several or labels.key(value) in self._crowded:
            return []
        types = {key: self._identities[uri].type for uri, (key,) in by_uri.items()}
        pairs = combinations(sorted(types), 2)
        return [(one, other) for one, other in pairs if types[one] == types[other]]

    def _drop_ambiguous(self, wanted: dict[_Pair, list[str]]) -> None:
        """Drop pairs that would make two rows of one table one with the same row."""
        partners: dict[tuple[str, str], list[_Pair]] = {}
        for pair in wanted:
            for one, other in (pair, pair[::-1]):
                partners.setdefault((one, self._rows[other].uri), []).append(pair)
        for pairs in partners.values():
            for pair in pairs if len(pairs) > 1 else ():
                if wanted.pop(pair, None):
                    self._tell(pair, "one of them is the same as two rows of one table")

    def _evidence(self, pair: _Pair, value: str) -> str:
        fields = [f"{self._rows[key].uri}.{self._values[key][value][0]}" for key in pair]
        return f"{' = '.join(fields)}: {self._values[pair[0]][value][1]}"

    def _obstacle(self, pair: _Pair) -> str:
        first, second = map(self._joins.thing, pair)
        if self._joins.apart(first, second):
            return "a person said that they are two"
        uris = {self._joins.rows[key].uri for key in first}
        if second != first and any(self._joins.rows[key].uri in uris for key in second):
            return "two rows of one table would be one"
        return ""

    def _edges(self, pair: _Pair, evidence: list[str]) -> list[Edge]:
        return edges_between(self._rows[pair[0]], self._rows[pair[1]], evidence, PLAN)

    def _tell(self, pair: _Pair, why: str = "", *, separated: bool = False) -> None:
        if not self._core.isdisjoint(pair):
            # a row that is gone is known by its key
            first, second = (self._rows[key].handle if key in self._rows else key for key in pair)
            united = not (why or separated)
            self.told.append(SameAs(first, second, united=united, why=why, separated=separated))


# -- what is united --------------------------------------------------------------------------------


class Joins:
    """What is united, or kept apart, around some rows."""

    def __init__(self, reads: Reads, rows: Mapping[str, Row]) -> None:
        self.rows = dict(rows)  # by the keys of their handles
        self.edges: dict[_Pair, Edge] = {}
        self._joined: dict[str, set[str]] = {}
        waiting: Mapping[str, Row] = rows
        while waiting:
            ends = set()
            for edge in reads.graph.stored_edges(sorted(waiting), direction="out"):
                if edge.rel_type == SAME_AS.name and EVIDENCE in edge.properties:
                    pair = _pair(edge.src, edge.dst)
                    self.edges[pair] = edge
                    if not is_apart(edge):
                        self.join(pair)
                        ends.add(edge.dst)
            new = sorted(ends - self.rows.keys())
            found = reads.records.lookup(new, edges=0, own=True) if new else {}
            waiting = {key: row for key in found for row in rows_with_key(found[key], key)}
            self.rows |= waiting

    def join(self, pair: _Pair) -> None:
        for one, other in (pair, pair[::-1]):
            self._joined.setdefault(one, set()).add(other)

    def part(self, pair: _Pair) -> None:
        for one, other in (pair, pair[::-1]):
            self._joined.get(one, set()).discard(other)

    def holds(self, pair: _Pair) -> bool:
        return pair[1] in self._joined.get(pair[0], ())

    def thing(self, key: str) -> set[str]:
        """The keys of all that is one with this."""
        found, waiting = {key}, [key]
        while waiting:
            new = self._joined.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return found & self.rows.keys()

    def apart(self, first: Collection[str], second: Collection[str]) -> _Pair | None:
        """Two of these that a person said are two."""
        pairs = (_pair(one, other) for one in first for other in second if one != other)
        return next((p for p in pairs if p in self.edges and is_apart(self.edges[p])), None)


def is_apart(edge: Edge) -> bool:
    return bool(edge.properties.get(SEPARATED))


def edges_between(one: Row, other: Row, evidence: list[str], said_by: str) -> list[Edge]:
    now = datetime.now(UTC)
    return [
        Edge(
            src=src.handle,
            rel_type=SAME_AS.name,
            dst=dst.handle,
            properties={"dst_entity_type": dst.type, EVIDENCE: evidence, SAID_BY: said_by},
            valid_from=now,
        )
        for src, dst in ((one, other), (other, one))
    ]


def _pair(one: str, other: str) -> _Pair:
    return (one, other) if one < other else (other, one)


def _keys(pair: _Pair) -> list[EdgeKey]:
    return [(src, SAME_AS.name, dst) for src, dst in (pair, pair[::-1])]


# -- as a person says ------------------------------------------------------------------------------


def unite_rows(reads: Reads, first: str, second: str, tenant: str) -> Batch:
    """Make the batch that unites two rows; see `Schemas.unite`."""
    one, other, pair, joins = _two_rows(reads, first, second)
    joins.edges.pop(pair, None)
    if apart := joins.apart(*map(joins.thing, pair)):
        raise ConflictError(
            f"{' and '.join(apart)} would be one, and were said to be two",
            remedy="unite those first, if they are one after all",
        )
    edges = edges_between(one, other, [], PERSON)
    return build(edges, tenant=tenant, model="", deleted_edges=_keys(pair))


def separate_rows(reads: Reads, first: str, second: str, tenant: str) -> Batch:
    """Make the batch that keeps two rows apart; see `Schemas.separate`."""
    one, other, pair, joins = _two_rows(reads, first, second)
    joins.part(pair)
    if pair[1] in joins.thing(pair[0]):
        between = sorted(joins.thing(pair[0]) - {*pair})
        raise ConflictError(
            f"{one.handle} and {other.handle} are also one through {', '.join(between)}",
            remedy=f"separate one of the two from {between[0]} first",
        )
    now = datetime.now(UTC)
    stored = joins.edges.get(pair)
    edges = []
    for edge in edges_between(one, other, [], PERSON):
        since = stored.valid_from if stored else now
        said = {**(stored.properties if stored else {}), **edge.properties, SEPARATED: True}
        edges.append(replace(edge, properties=said, valid_from=since, valid_to=now))
    return build(edges, tenant=tenant, model="", deleted_edges=_keys(pair))


def _two_rows(reads: Reads, first: str, second: str) -> tuple[Row, Row, _Pair, Joins]:
    one, other = (find_row(reads, label) for label in (first, second))
    if one.id == other.id:
        raise InvalidInputError(f"{first} and {second} are one row", remedy="name two rows")
    if type_root(one.type) != type_root(other.type):
        raise InvalidInputError(
            f"{one.handle} is a {one.type or 'row'}, and {other.handle} a {other.type or 'row'}: "
            "they are never one",
            remedy="name rows of one type, such as customer and customer/shop",
        )
    rows = {labels.key(row.handle): row for row in (one, other)}
    return one, other, _pair(*rows), Joins(reads, rows)


def find_row(reads: Reads, id_or_handle: str) -> Row:
    """Find a row of any schema, or raise NotFoundError."""
    found = reads.records.get(None, id_or_handle) if may_be_id(id_or_handle) else None
    if isinstance(found, Row):
        return found
    key = labels.key(id_or_handle)
    rows = [*rows_with_key(reads.records.lookup([key], edges=0, own=True)[key], key)]
    if len(rows) != 1:
        raise NotFoundError(
            f"{'several rows have' if rows else 'no row has'} the id or handle {id_or_handle!r}",
            remedy="name a row by its handle, such as customer-12345, or its id",
            id=id_or_handle,
        )
    return rows[0]
