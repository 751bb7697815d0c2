"""When records expire."""

from __future__ import annotations

from remloom.store.postgres.migrations.script import run

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run(__file__)
