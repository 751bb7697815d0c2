"""Named SQL statements, read from the `*.sql` files of a folder.

A file holds any number of statements, each under its name and one line that says what it does:

    -- name: edges_of_type
    -- The edges of one type, in the order of their ends.
    SELECT src, dst FROM edges WHERE rel = :rel{valid} ORDER BY src, dst;

What SQL does not let a parameter say, as a column to order by, is a slot in braces, which
`SqlFiles.fill` replaces. Further lines that begin with `--` are comments for the reader: they are
not sent to the database, nor is the indentation. (psycopg prepares again, for each call, what has
more than 4,096 characters.)
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_HEADER = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_SLOT = re.compile(r"\{([a-z_]+)\}")


class NamedStatement(NamedTuple):
    """A statement of a file, without comments, indentation and the closing semicolon."""

    name: str
    description: str
    sql: str

    @property
    def slots(self) -> frozenset[str]:
        return frozenset(_SLOT.findall(self.sql))


class SqlFiles:
    """The statements of a folder: each is an attribute, the text of the statement of that name.

    The files are read when the first statement is asked for. From then on a statement costs no more
    than any attribute.

    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> _ = Path(folder.name, "edges.sql").write_text('''
    ... -- name: edges_of_type
    ... -- The edges of one type.
    ... SELECT src, dst FROM edges
    ... WHERE rel = :rel{valid};
    ... ''')
    >>> SQL = SqlFiles(Path(folder.name))
    >>> print(SQL.edges_of_type)
    SELECT src, dst FROM edges
    WHERE rel = :rel{valid}
    >>> print(SQL.fill("edges_of_type", valid=" AND valid_to IS NULL"))
    SELECT src, dst FROM edges
    WHERE rel = :rel AND valid_to IS NULL
    >>> [(statement.name, statement.description) for statement in SQL]
    [('edges_of_type', 'The edges of one type.')]
    >>> SQL.edges_by_type
    Traceback (most recent call last):
        ...
    AttributeError: no SQL statement is named 'edges_by_type'; did you mean 'edges_of_type'?
    >>> folder.cleanup()

    Raises:
        AttributeError: no statement has the name that is asked for.
        ValueError: a file is not written as the module says.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getattr__(self, name: str) -> str:
        # Only what is not there yet comes here: the first statement asked for, and mistakes.
        # Python itself asks for names with two underscores, for which no files are read.
        if name.startswith("__"):
            raise AttributeError(name)
        statements = {statement.name: statement.sql for statement in self}
        self.__dict__.update(statements)
        if name in statements:
            return statements[name]
        close = difflib.get_close_matches(name, statements, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise AttributeError(f"no SQL statement is named {name!r}{hint}")

    def __iter__(self) -> Iterator[NamedStatement]:
        names: set[str] = set()
        for path in sorted(self._folder.glob("*.sql")):
            for statement in _statements(path):
                if statement.name in names or hasattr(SqlFiles, statement.name):
                    raise ValueError(f"{path}: the name {statement.name!r} is taken")
                names.add(statement.name)
                yield statement

    def fill(self, name: str, /, **pieces: str) -> str:
        """A statement whose slots are replaced by these pieces of SQL, which have no slots
        themselves. Raises ValueError: the statement has other slots."""
        template: str = getattr(self, name)
        slots = set(_SLOT.findall(template))
        if slots != set(pieces):
            expected = ", ".join(sorted(slots)) or "none"
            raise ValueError(f"the slots of the SQL statement {name!r} are: {expected}")
        return _SLOT.sub(lambda slot: pieces[slot[1]], template)


def numbered_scripts(folder: Path) -> list[tuple[int, str]]:
    """List the scripts `NNNN_name.sql` of a folder with their numbers, in order."""
    paths = sorted(folder.glob("*.sql"))
    return [(int(path.name[:4]), path.read_text(encoding="utf-8")) for path in paths]


def _statements(path: Path) -> Iterator[NamedStatement]:
    # What splitting gives is what stands before the first name, then names and texts by turns.
    before, *parts = _HEADER.split(path.read_text(encoding="utf-8"))
    if any(line and not line.startswith("--") for line in before.splitlines()):
        raise ValueError(f"{path}: there is SQL before the first `-- name:`")
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        described, *lines = text.strip().splitlines() or [""]
        stripped = [line.strip() for line in lines]
        sql = "\n".join(line for line in stripped if line and not line.startswith("--"))
        sql = sql.removesuffix(";")
        if not described.startswith("-- ") or not sql:
            raise ValueError(f"{path}: {name} needs a line that describes it, and a statement")
        yield NamedStatement(name, described.removeprefix("-- "), sql)
