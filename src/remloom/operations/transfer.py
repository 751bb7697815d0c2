"""A whole memory, or a profile, as a stream of bytes: out and in."""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path
from typing import IO

from msgspec.structs import replace

from ..model import Exported, Imported
from ..profile.beliefs.exchange import Imported as ImportedProfile
from .operation import Operation
from .signatures import OfMemory, derive


class Transfer(OfMemory):
    """Moves what is remembered, as a stream."""

    def export(self, stream: IO[bytes], *, vectors: bool = True) -> Exported:
        """Send everything as JSON lines, which `import` takes in. The last line says that it is
        whole.

        Args:
            vectors: whether with the vectors of texts.
        """
        return self.memory.admin.export(stream, vectors=vectors)

    def import_(self, stream: IO[bytes], *, incomplete: bool = False) -> Imported:
        """Write an export into this memory, by id: all of it, or nothing.

        Args:
            incomplete: take what there is of an export that was cut off, or that an older Remloom
                wrote.

        Raises:
            InvalidInputError: a line is wrong, or the export is not whole or was changed. Nothing
                was written.
        """
        return self.memory.admin.import_(stream, incomplete=incomplete)

    def backup(self, stream: IO[bytes]) -> None:
        """Send a copy of this tenant's folder, as encrypted as it is, as a tar archive.

        Raises:
            InvalidInputError: it is kept in PostgreSQL, which has its own way to back up.
        """
        with tempfile.TemporaryDirectory(prefix="remloom-") as folder:
            copy = Path(folder, self.memory.admin.tenant)
            self.memory.admin.backup(copy)
            with tarfile.open(fileobj=stream, mode="w|") as archive:
                archive.add(copy, arcname=copy.name)

    def profile_import(self, stream: IO[bytes]) -> ImportedProfile:
        """Take in a profile that was exported as JSON; all of it, or nothing. It is one run.

        Raises:
            InvalidInputError: it is no such JSON; says which piece is wrong.
            ConflictError: this memory has another slot of the same name.
        """
        with tempfile.NamedTemporaryFile(prefix="remloom-", suffix=".json") as file:
            while piece := stream.read(65_536):
                file.write(piece)
            file.flush()
            return self.memory.profile.import_(file.name)


TRANSFER: tuple[Operation, ...] = (
    replace(
        derive("export", "GET /v1/export", "read", of=Transfer),
        carries="out",
        media_type="application/x-ndjson",
    ),
    replace(
        derive("import", "POST /v1/import", "write", of=Transfer, method="import_"), carries="in"
    ),
    replace(
        derive("backup", "GET /v1/backup", "admin", of=Transfer),
        carries="out",
        media_type="application/x-tar",
    ),
    replace(
        derive("profile_import", "POST /v1/profile/import", "write", of=Transfer), carries="in"
    ),
)
