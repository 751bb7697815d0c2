"""The SQL of a revision, in the file beside it."""

from __future__ import annotations

from pathlib import Path

from alembic import context


def run(revision: str) -> None:
    """Run the SQL beside a revision's file; its percent signs and colons are its own."""
    script = Path(revision).with_suffix(".sql").read_text(encoding="utf-8")
    context.config.attributes["connection"].execution_options(no_parameters=True).exec_driver_sql(
        script
    )
