"""Writes edges, their counts, and the thin entities that stand for labels which no record
has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

from msgspec.structs import replace

from ....model import Edge, EdgeKey, Record
from ...encoding import micros
from ...meanings import no_own_label
from ...rules.json_values import encode_free
from ...rules.merge import thin_entity
from ..binary_arrays import ArrayColumn, columns, parts
from ..rows import RECORD_COLUMNS, SQL, edge_of, row_of, short
from .transaction import EDGE_KEYS, Transaction

_EDGE_COLUMNS = EDGE_KEYS | {
    "weight": "d",
    "created": "q",
    "valid_from": "q",
    "valid_to": "q",
    "properties": "t",
}
_OWN_COLUMNS = {"positions": "q", "keys": "t", "ids": "t"}
_NAME_COLUMNS = {"key": "t", "id": "t", "rank": "i", "label": "t", "kin": "?", "handle": "?"}

# A key as it is stored, the id of its record, its rank, the whole key if it was shortened, whether
# the record has others, and whether it is the record's handle.
NameRow = tuple[str, str, int, str | None, bool, bool]


class EdgeWriter(Transaction):
    """The part of a write that is about edges, and the keys at their ends.

    A key that is a record's handle means that record alone: whatever else is called so has none of
    its edges (`names.kin` is NULL). A foreign key makes a handle of the key that it leads to.
    """

    thin = 0  # made so far
    lost_handles: dict[str, str]  # by id of the record that had it until now
    # by whole key: the name and type of a thin entity, should the key need one
    thin_names: dict[str, tuple[str, str]]

    # -- edges -------------------------------------------------------------------------------------

    def put_edges(self, edges: Sequence[Edge], own: Mapping[int, Record] = {}) -> int:
        """Store edges, or merge them with those there are; returns how many there were. Of ends
        that no record has, thin entities are made.

        Args:
            own: position of an edge that a record was written with -> that record.

        Raises:
            AmbiguousLabelError: such a record is only called as others are handled.
        """
        if not edges:
            return 0
        keyed = [((short(edge.src), edge.rel_type, short(edge.dst)), edge) for edge in edges]
        whole_keys: dict[str, str] = {}
        for (src, _, dst), edge in keyed:
            whole_keys[src] = edge.src
            whole_keys[dst] = edge.dst
        free = self._matching_keys(SQL.free_keys, list(whole_keys))
        self._make_thin({key: whole_keys[key] for key in free})
        from_keys = {key for ends, edge in keyed if edge.is_from_key for key in (ends[0], ends[2])}
        self._claim({key: whole_keys[key] for key in from_keys})
        for position, src in self._own_keys(keyed, own).items():
            (_, rel, dst), edge = keyed[position]
            keyed[position] = ((src, rel, dst), edge)
        # One statement may touch a row once: an edge that comes twice waits for the next.
        while keyed:
            first: dict[EdgeKey, Edge] = {}
            later = [(key, edge) for key, edge in keyed if first.setdefault(key, edge) is not edge]
            self._upsert(sorted(first.items(), key=itemgetter(0)))
            keyed = later
        return len(edges)

    def _own_keys(
        self, keyed: Sequence[tuple[EdgeKey, Edge]], own: Mapping[int, Record]
    ) -> dict[int, str]:
        """The keys which edges leave that are their records' own, by the edges' positions."""
        if not own:
            return {}
        rows = [(position, keyed[position][0][0], record.id) for position, record in own.items()]
        found = dict(self.rows(SQL.own_keys, **columns(_OWN_COLUMNS, rows)))
        for position, record in own.items():
            if found[position] is None:
                raise no_own_label(record)
        return found

    def _upsert(self, edges: Sequence[tuple[EdgeKey, Edge]]) -> None:
        """Store edges, or merge them with those there are; none comes twice."""
        connection = self.cursor.connection
        # The server stores one part while the next is prepared, and the part before is counted.
        with connection.pipeline():
            answers = []
            for part in parts(edges):
                values = columns(_EDGE_COLUMNS, [_edge_row(*pair) for pair in part])
                answers.append(
                    connection.execute(SQL.upsert_edges, {"tenant": self.cursor.tenant, **values})
                )
            for answer in answers:
                self._count([edge for *edge, is_new in answer.fetchall() if is_new], 1)

    def delete_edges(self, edges: Sequence[EdgeKey]) -> list[str]:
        """Delete edges by their keys; returns the keys that were at their ends."""
        if not edges:
            return []
        keys = [(short(src), rel, short(dst)) for src, rel, dst in edges]
        deleted = self.rows(SQL.delete_edges, **columns(EDGE_KEYS, keys))
        self._count(deleted, -1)
        return list({key for src, _, dst in deleted for key in (src, dst)})

    def delete_edges_at(self, keys: Sequence[str]) -> int:
        """Delete the edges of keys that no record has any more, and thin entities that are left
        without an edge; returns how many edges there were."""
        handles = {*self.lost_handles.values()}.intersection(keys)
        lost = self._matching_keys(SQL.keys_without_handle, list(handles))
        unowned = list({*self._matching_keys(SQL.unowned_keys, keys), *lost})
        deleted = self.rows(SQL.delete_edges_leaving, keys=ArrayColumn("t", unowned))
        deleted += self.rows(SQL.delete_edges_entering, keys=ArrayColumn("t", unowned))
        self._count(deleted, -1)
        other_ends = {key for src, _, dst in deleted for key in (src, dst)} - set(unowned)
        if other_ends:
            self.delete_unlinked_thin(list(other_ends))
        return len(deleted)

    def move_edges(self, moved: dict[str, str]) -> None:
        """Put the edges at some keys at others, all at once: two may change keys."""
        rows = self.rows(SQL.edges_at_ends, keys=ArrayColumn("t", list(moved)))
        edges = [edge_of(row) for row in rows]
        self.delete_edges([edge.key for edge in edges])
        at_others = []
        for edge in edges:
            src = moved.get(edge.src, edge.src)
            dst = moved.get(edge.dst, edge.dst)
            at_others.append(replace(edge, src=src, dst=dst))
        self.put_edges(at_others)

    def _count(self, edges: Sequence[Sequence[str]], change: int) -> None:
        """Keep the counts of keys and of types, whose edges were added (1) or deleted (-1)."""
        if not edges:
            return
        ends: Counter[tuple[str, int, str]] = Counter()
        types: Counter[str] = Counter()
        for src, rel, dst in edges:
            ends[src, 0, rel] += 1
            ends[dst, 1, rel] += 1
            types[rel] += 1
        # In one order, so that two writers of a tenant could never wait for each other.
        at_keys = [(*end, change * count) for end, count in sorted(ends.items())]
        of_types = [(rel, change * count) for rel, count in sorted(types.items())]
        degree_columns = {"key": "t", "side": "i", "rel": "t", "edges": "q"}
        self.run(SQL.count_at_keys, **columns(degree_columns, at_keys))
        self.run(SQL.count_of_types, **columns({"rel": "t", "edges": "q"}, of_types))
        if change < 0:
            self.run(SQL.delete_unused_types, rels=ArrayColumn("t", list(types)))
            keys = ArrayColumn("t", [key for key, _, _ in ends])
            self.run(SQL.delete_empty_degrees, keys=keys)

    # -- names and thin entities -------------------------------------------------------------------

    def put_names(self, names: Sequence[NameRow]) -> None:
        numbers = range(self.name_no + 1, self.name_no + len(names) + 1)
        self.name_no += len(names)
        values = columns(_NAME_COLUMNS, names)
        self.run(SQL.insert_names, number=ArrayColumn("q", numbers), **values)

    def delete_names(self, ids: Sequence[str]) -> dict[str, str | None]:
        """Take records their keys; returns these, with what a shortened one stands for."""
        deleted = self.rows(SQL.delete_names, ids=ArrayColumn("t", ids))
        self.removed_names += len(deleted)
        self.lost_handles.update((id, key) for key, _, id, is_handle in deleted if is_handle)
        return {key: label for key, label, _, _ in deleted}

    def delete_records(self, ids: Sequence[str]) -> dict[str, str | None]:
        """Delete records and their keys; returns these, as `delete_names` does."""
        if not ids:
            return {}
        keys = self.delete_names(ids)
        self.run(SQL.delete_records, ids=ArrayColumn("t", ids))
        return keys

    def replace_released(self, keys: dict[str, str | None]) -> None:
        """Make thin entities of keys that records gave up, each with what a shortened one stands
        for, where edges are left at them."""
        free = self._matching_keys(SQL.free_keys, list(keys))
        linked = self._matching_keys(SQL.linked_keys, free)
        self._make_thin({key: keys[key] or key for key in linked})

    def delete_unlinked_thin(self, keys: Sequence[str]) -> None:
        """Delete the thin entities at these keys that no edge is left to."""
        ids = self._matching_keys(SQL.unlinked_thin, keys)
        # A thin entity with several keys comes once for each.
        self.delete_records(list(dict.fromkeys(ids)))

    def give_back(self) -> None:
        """Give the records that keys name the edges there, where these are not handles any more."""
        if self.lost_handles:
            self.run(SQL.show_names, keys=ArrayColumn("t", list(self.lost_handles.values())))
            self.lost_handles.clear()

    def _claim(self, whole_keys: dict[str, str]) -> None:
        """Make handles of keys at the ends of edges made from foreign keys. For one that is no
        record's, a thin entity stands."""
        free = self._matching_keys(SQL.keys_without_handle, list(whole_keys))
        if free:
            moved = self.displaced(free)
            made = self._matching_keys(SQL.make_handles, free)
            missing = {key: whole_keys[key] for key in set(free).difference(made)}
            self._make_thin(missing, are_handles=True)
            if moved:
                self.move_edges(moved)
            self.run(SQL.hide_names, keys=ArrayColumn("t", free))

    def displaced(self, handles: Sequence[str]) -> dict[str, str]:
        """Return keys that become handles and are those of entities, each with another key of its
        entity, to which the edges there go: they were written for it."""
        return dict(self.rows(SQL.displaced, keys=ArrayColumn("t", handles))) if handles else {}

    def _make_thin(self, whole_keys: dict[str, str], *, are_handles: bool = False) -> None:
        if not whole_keys:
            return
        now = datetime.now(UTC)
        rows = []
        names: list[NameRow] = []
        for whole in whole_keys.values():
            name, type = self.thin_names.get(whole, (whole, ""))
            entity, keys = thin_entity(whole, name, type, now)
            self.seq += 1
            rows.append(row_of(entity, self.seq, None, self.next_revision()))
            names += name_rows(entity.id, keys, short(whole) if are_handles else None)
        self.thin += len(rows)
        self.run(SQL.insert_records, **columns(RECORD_COLUMNS, rows))
        self.put_names(names)

    def _matching_keys(self, sql: str, keys: Sequence[str]) -> list[str]:
        if not keys:
            return []
        return [match for (match,) in self.rows(sql, keys=ArrayColumn("t", keys))]


def name_rows(id: str, keys: Sequence[str], handle: str | None) -> Iterable[NameRow]:
    """The rows of a record's keys, that of its name first; `handle` is the one which is its
    handle."""
    for rank, key in enumerate(keys):
        stored = short(key)
        whole = key if stored != key else None
        yield stored, id, rank, whole, len(keys) > 1, stored == handle


def _edge_row(key: EdgeKey, edge: Edge) -> tuple[Any, ...]:
    properties = encode_free(edge.properties) if edge.properties else None
    times = (micros(edge.created_at), micros(edge.valid_from), micros(edge.valid_to))
    return *key, edge.weight, *times, properties
