"""Any sequence of operations leaves the PostgreSQL store as a model of it says."""

from __future__ import annotations

from uuid import uuid4

from hypothesis import HealthCheck, settings

from remloom.store.contract import Store
from remloom.store.postgres import PostgresStore
from remloom.testing.stateful import StoreMachine


def test_any_sequence_of_operations_leaves_the_store_as_the_model_says(postgres: str) -> None:
    class Machine(StoreMachine):
        def opening(self) -> Store:
            self.tenant = getattr(self, "tenant", "") or f"t{uuid4().hex}"
            return PostgresStore(postgres, self.tenant)

    run = Machine.TestCase
    run.settings = settings(
        max_examples=4, stateful_step_count=12, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    run("runTest").debug()
