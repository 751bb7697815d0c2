"""The highest revision given to a record."""

from __future__ import annotations

from remloom.store.postgres.migrations.script import run

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    run(__file__)
