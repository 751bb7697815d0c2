"""What a record says, and what its parents said."""

from __future__ import annotations

from remloom.store.postgres.migrations.script import run

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    run(__file__)
