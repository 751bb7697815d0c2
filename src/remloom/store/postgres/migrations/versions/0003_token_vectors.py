"""Token vectors."""

from __future__ import annotations

from remloom.store.postgres.migrations.script import run

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run(__file__)
