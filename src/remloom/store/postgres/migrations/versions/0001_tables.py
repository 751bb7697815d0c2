"""Tables, roles, policies and views."""

from __future__ import annotations

from remloom.store.postgres.migrations.script import run

revision = "0001"
down_revision = None


def upgrade() -> None:
    run(__file__)
