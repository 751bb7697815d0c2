"""Which keys are handles of rows, and whose edges are at them."""

from __future__ import annotations

from remloom.store.postgres.migrations.script import run

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    run(__file__)
