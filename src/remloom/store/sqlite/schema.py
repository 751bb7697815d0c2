"""The schema of a database file, brought up to date when it is opened."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import apsw

from ...errors import SchemaVersionError


def migrations() -> list[tuple[int, str]]:
    """List every migration as (version, script), in order: the files `migrations/NNNN_name.sql`."""
    folder = resources.files(__package__) / "migrations"
    files = ((int(file.name[:4]), file) for file in folder.iterdir() if file.name.endswith(".sql"))
    return [
        (version, file.read_text(encoding="utf-8"))
        for version, file in sorted(files, key=lambda pair: pair[0])
    ]


def migrate(writer: apsw.Connection, path: Path, *, read_only: bool) -> None:
    """Bring a file to the newest schema.

    Raises:
        SchemaVersionError: it is newer than this Remloom, or older and cannot be written.
    """
    known = migrations()
    newest = known[-1][0]
    cursor = writer.cursor()
    version = cursor.execute("PRAGMA user_version").get
    if version == newest:
        return
    seen = f"{path} has schema version {version}, this Remloom knows {newest}"
    if version > newest:
        raise SchemaVersionError(seen, remedy="upgrade remloom", found=version, expected=newest)
    if read_only:
        raise SchemaVersionError(
            f"{seen}, and it cannot be written",
            remedy="open it once where it can be written",
            found=version,
            expected=newest,
        )
    cursor.execute("BEGIN IMMEDIATE")
    try:
        # another process may have been faster
        version = cursor.execute("PRAGMA user_version").get
        for number, script in known:
            if number > version:
                cursor.execute(script)
        cursor.execute(f"PRAGMA user_version = {newest}")
        cursor.execute("COMMIT")
    except BaseException:
        if writer.in_transaction:  # a full disk ends it too
            cursor.execute("ROLLBACK")
        raise
