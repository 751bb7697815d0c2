"""The statements of the PostgreSQL store, as `sql/*.sql` has them."""

from __future__ import annotations

from pathlib import Path

from ..sql_files import SqlFiles

SQL = SqlFiles(Path(__file__).with_name("sql"))
