"""How fast rows of a database come in, and how much memory that needs.

    python -m bench.sync --rows 100000 [--home FOLDER_OR_URL] [--json]

A database in SQLite with customers and orders, of which each leads to a customer, is synced into an
empty memory, then once more unchanged, then with one row in a hundred changed.
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from remloom import Memory
from remloom.model import Field
from remloom.schema.plan.plan import Plan
from remloom.schema.plan.planned import PlannedEdge, PlannedField, PlannedTable

_CUSTOMERS = 10  # orders a customer


def make_database(path: Path, rows: int) -> None:
    """Write customers, and so many orders of theirs."""
    connection = sqlite3.connect(path)
    with connection:
        connection.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT);"
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers,"
            " total REAL, state TEXT, note TEXT);"
        )
        customers = max(1, rows // _CUSTOMERS)
        connection.executemany(
            "INSERT INTO customers VALUES (?, ?, ?)",
            ((n, f"Customer {n}", f"City {n % 97}") for n in range(customers)),
        )
        connection.executemany(
            "INSERT INTO orders VALUES (?, ?, ?, ?, ?)",
            ((n, n % customers, n * 1.25, "open", f"note {n}") for n in range(rows)),
        )
    connection.close()


def make_plan(path: Path) -> Plan:
    """Plan to take both tables."""
    kinds = {"id": "integer", "customer_id": "integer", "total": "float"}

    def table(name: str, columns: str, label: tuple[str, ...]) -> PlannedTable:
        fields = tuple(
            PlannedField(
                column=column,
                # every row has an id and a name already
                name={"id": "number", "name": "called"}.get(column, column),
                field=Field(kind=kinds.get(column, "string")),  # type: ignore[arg-type]
            )
            for column in columns.split()
        )
        return PlannedTable(
            table=name,
            schema_name=name,
            entity_type=name.removesuffix("s"),
            key=("id",),
            name=label,
            fields=fields,
        )

    edge = PlannedEdge(
        table="orders",
        columns=("customer_id",),
        target="customers",
        target_columns=("id",),
        name="belongs_to",
    )
    return Plan(
        source="crm",
        kind="sqlite",
        address=f"sqlite:///{path}",
        tables=(
            table("customers", "id name city", ("name",)),
            table("orders", "id customer_id total state note", ()),
        ),
        edges=(edge,),
    )


def measure(rows: int, home: str | None) -> dict[str, Any]:
    """Sync three times; returns rows a second and the memory that was needed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "crm.sqlite")
        make_database(path, rows)
        with Memory.open(home or Path(folder, "home"), tenant="bench", embedder="none") as memory:
            memory.schemas.register_from_discovery(make_plan(path))
            before = _megabytes()
            result: dict[str, Any] = {"rows": rows + rows // _CUSTOMERS}

            def run(name: str, sync: Callable[[], Any]) -> None:
                wall, cpu = time.perf_counter(), time.process_time()
                report = sync()
                seconds = time.perf_counter() - wall
                result[name] = {
                    "rows_per_second": round(report.read / seconds),
                    "rows_per_cpu_second": round(report.read / (time.process_time() - cpu)),
                    "added": report.added,
                    "changed": report.changed,
                    "unchanged": report.unchanged,
                }

            run("ingest", lambda: memory.schemas.sync("crm"))
            run("unchanged", lambda: memory.schemas.sync("crm"))
            connection = sqlite3.connect(path)
            with connection:
                connection.execute("UPDATE orders SET note = note || '!' WHERE id % 100 = 0")
            connection.close()
            run("one in a hundred changed", lambda: memory.schemas.sync("crm"))
            result["megabytes"] = round(_megabytes())
            result["megabytes_before"] = round(before)
    return result


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--home", help="folder or URL of the memory; default a temporary folder")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    result = measure(given.rows, given.home)
    if given.json:
        json.dump(result, sys.stdout)
        return
    for name, value in result.items():
        print(f"{name:26} {value}")


if __name__ == "__main__":
    main()
