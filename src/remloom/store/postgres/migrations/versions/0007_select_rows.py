"""How long a row of a SELECT may be, and rows fetched one at a time."""

from __future__ import annotations

from remloom.store.postgres.migrations.script import run

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    run(__file__)
