"""The CRM of docs/crm.md, from the servers that companies have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import mariadb_server
import postgres_server
from remloom import Memory
from remloom.schema.plan.plan import Plan
from remloom.testing.crm import crm_statements

Execute = Callable[..., None]
_NAMES: dict[tuple[str, ...], dict[str, Any]] = {
    ("contacts", "account_code"): {"name": "owns"},
    ("opportunities", "account_code"): {"inverse": "associated_with"},
}


@pytest.fixture(params=["postgresql", "mysql"])
def crm(request: pytest.FixtureRequest) -> Iterator[tuple[str, Execute]]:
    """The URL of a CRM on a server, and what executes statements there."""
    with ExitStack() as stack:
        if request.param == "postgresql":
            url = stack.enter_context(postgres_server.database(request.getfixturevalue("postgres")))
            cursor: Any = stack.enter_context(postgres_server.connect(url))
        else:
            url = stack.enter_context(mariadb_server.database(request.getfixturevalue("mariadb")))
            cursor = stack.enter_context(mariadb_server.connect(url)).cursor()

        def execute(*statements: str) -> None:
            for statement in statements:
                cursor.execute(statement)

        execute(*crm_statements(request.param))
        yield url, execute


def test_a_crm_is_discovered_followed_asked_and_forgotten(
    crm: tuple[str, Execute], tmp_path: Path
) -> None:
    url, execute = crm
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        memory.schemas.discover(url, "crm").save(tmp_path / "crm.toml")
        plan = Plan.load(tmp_path / "crm.toml")
        edges = [
            replace(edge, **_NAMES.get((edge.table, *edge.columns), {})) for edge in plan.edges
        ]
        memory.schemas.register_from_discovery(
            replace(plan, edges=tuple(edges)), {"contacts.email": "contact"}
        )
        report = memory.schemas.sync("crm")
        assert (report.added, report.edges_added, report.refused) == (277, 338, 0)
        walked = memory.query(
            "TRAVERSE owns,associated_with WITH LOOKUP john.doe@example.com DEPTH 2"
        )
        assert {(node.depth, node["name"]) for node in walked.nodes} == {
            (0, "John Doe"), (1, "Acme Ltd"), (2, "Mirrors for Globex"),
        }  # fmt: skip
        walked = memory.query(
            "TRAVERSE belongs_to,contains WITH LOOKUP customer-12345 DEPTH 2 DIRECTION both"
        )
        by_depth = [{n["schema"] for n in walked.nodes if n.depth == depth} for depth in range(3)]
        assert by_depth == [{"customers"}, {"orders"}, {"products"}]

        rename = (
            "UPDATE customers SET name = '{}', updated_at = '2026-11-01' WHERE customer_id = 12345"
        )
        execute(rename.format("Acme Limited"), "ALTER TABLE customers ADD COLUMN vat VARCHAR(20)")
        report = memory.schemas.sync("crm")
        assert (report.changed, report.added, report.deleted) == (1, 0, 0)
        assert memory.lookup("customer-12345").records[0].name == "Acme Limited"
        drift = memory.schemas.drift("crm", accept=True)
        assert [str(change) for change in drift.changes] == [
            "customers.vat: column added, VARCHAR(20)"
        ]
        assert not memory.schemas.drift("crm")

        memory.forget("customer-12345")
        execute(rename.format("Acme Again"))
        for _ in range(2):
            assert memory.schemas.sync("crm").forgotten == 1
        assert not memory.lookup("customer-12345").records
        assert not memory.lookup("Acme Again").records
