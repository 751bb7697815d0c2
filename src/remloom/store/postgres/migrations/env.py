"""Where Alembic begins: on the connection, and in the transaction, that `migrate` holds."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"], version_table_schema="remloom"
)
context.run_migrations()
