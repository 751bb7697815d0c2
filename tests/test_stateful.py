"""Any sequence of operations leaves the embedded store as a model of it says."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from remloom.store.contract import Store
from remloom.store.sqlite import SqliteStore
from remloom.testing.stateful import StoreMachine


class Machine(StoreMachine):
    def opening(self) -> Store:
        return SqliteStore(self.folder / "memory.db", "ab" * 32, synchronous="normal")


TestEmbedded = Machine.TestCase
TestEmbedded.settings = settings(
    max_examples=12,
    stateful_step_count=15,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
