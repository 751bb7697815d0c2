"""What a SELECT may hold in memory."""

from __future__ import annotations

from remloom.store.postgres.migrations.script import run

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    run(__file__)
