"""A transaction that changes a tenant: its lock, what it expects to find, the numbers it gives out.

The caller commits.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...batch import Preconditions, changed
from ...encoding import next_revision, now
from ..binary_arrays import ArrayColumn, columns
from ..database import PostgresDatabase, TenantCursor
from ..rows import SQL, edge_of, short

EDGE_KEYS = {"src": "t", "rel": "t", "dst": "t"}


class Transaction:
    """Holds the tenant's lock from the start, so that nothing read in it changes before it is
    written.

    Attributes:
        rows, run: those of its cursor.
        seq: the highest number of a record, in the order of writing.
        text_no: the highest number of a text.
        name_no: the highest number of a name.
        sealed_no: the highest number of a name that is in a run of the index.
        revision: the highest revision given to a record.
        removed_names: names removed since the runs were begun.
        has_expired: whether some record has expired and is not erased yet.
        has_premises: whether some record rests on what is no record (see `premise_entries`).
    """

    def __init__(self, server: PostgresDatabase, cursor: TenantCursor) -> None:
        self.cursor = cursor
        self.rows = cursor.rows
        self.run = cursor.run
        rows = self.rows(SQL.lock_tenant, now=now())
        server.check_made(rows[0][0] if rows else None)
        self.has_expired: bool = bool(rows and rows[0][1])
        # Where the store keeps to no tenant, one that is not there has given out no numbers.
        self.has_premises: bool = bool(rows and rows[0][2])
        numbers: tuple[int, ...] = rows[0][3:] if rows else (0, 0, 0, 0, 0, 0)
        self.seq, self.text_no, self.name_no, self.sealed_no, self.removed_names, self.revision = (
            numbers
        )

    def next_revision(self) -> int:
        """Give out a revision, for a record that is written."""
        self.revision = next_revision(self.revision)
        return self.revision

    def close(self) -> None:
        """Store the highest numbers given out."""
        self.run(
            SQL.store_numbers,
            seq=self.seq,
            doc=self.text_no,
            names=self.name_no,
            sealed=self.sealed_no,
            unnamed=self.removed_names,
            revision=self.revision,
        )

    def check(self, expected: Preconditions) -> None:
        """Raise GoneError or ChangedError if something is not as expected."""
        if ids := expected.ids:
            rows = self.rows(SQL.revisions, ids=ArrayColumn("t", ids), now=now())
            expected.check_records(dict(rows))
        if expected.edges:
            self._check_edges(expected)
        for (namespace, key), version in expected.entries.items():
            rows = self.rows(SQL.kv_version, namespace=namespace, key=key)
            if (rows[0][0] if rows else 0) != version:
                raise changed(f"the entry {namespace} {key!r}")

    def _check_edges(self, expected: Preconditions) -> None:
        by_short_keys = {
            (short(src), rel, short(dst)): edge for (src, rel, dst), edge in expected.edges.items()
        }
        rows = self.rows(SQL.edges_by_key, **columns(EDGE_KEYS, list(by_short_keys)))
        stored = {edge.key: edge for edge in map(edge_of, rows)}
        for key, edge in by_short_keys.items():
            as_stored = None if edge is None else replace(edge, src=key[0], dst=key[2])
            if stored.get(key) != as_stored:
                raise changed(f"the edge {' '.join(key)!r}")
