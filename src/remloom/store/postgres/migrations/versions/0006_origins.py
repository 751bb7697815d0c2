"""What came from a source beside its chunks is found by an index."""

from __future__ import annotations

from remloom.store.postgres.migrations.script import run

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    run(__file__)
