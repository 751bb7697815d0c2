"""What a server sends as a file, put in its place."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from remloom.client.plans import BackupFolder
from remloom.errors import ServerError


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../outside", tarfile.REGTYPE),
        ("/tmp/outside", tarfile.REGTYPE),
        ("memory/../../outside", tarfile.REGTYPE),
        ("memory\\..\\outside", tarfile.REGTYPE),
        ("memory/link", tarfile.SYMTYPE),
        ("memory/hard", tarfile.LNKTYPE),
        ("memory/pipe", tarfile.FIFOTYPE),
        ("memory/device", tarfile.CHRTYPE),
    ],
)
def test_a_backup_is_files_and_folders_of_its_own(name: str, kind: bytes, tmp_path: Path) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as writing:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "/etc/passwd"
        writing.addfile(member)
    (tmp_path / "inner").mkdir()
    with BackupFolder(tmp_path / "inner" / "copy") as folder:
        folder.write(archive.getvalue())
        with pytest.raises(ServerError, match="no file or folder of its own"):
            folder.unpack()
    assert [path.name for path in tmp_path.rglob("*")] == ["inner"]
