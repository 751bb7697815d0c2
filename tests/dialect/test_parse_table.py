"""The parse table that is kept between processes is loaded only from where nobody else can write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from remloom.query import parser

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tmp_path.chmod(0o700)
    return tmp_path / "cache" / "remloom"


def test_it_is_kept_in_a_folder_of_ones_own(cache: Path) -> None:
    before = os.umask(0)
    try:
        cache.parent.mkdir(mode=0o755)
        found = parser.parse_table_path()
    finally:
        os.umask(before)
    assert isinstance(found, str)
    assert Path(found).parent == cache
    assert cache.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("writable", ["", "remloom", "remloom/file"])
@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_it_is_not_loaded_from_where_others_may_write(
    cache: Path, writable: str, mode: int
) -> None:
    found = Path(str(parser.parse_table_path()))
    found.write_bytes(b"")
    where = {"": cache.parent, "remloom": cache, "remloom/file": found}[writable]
    where.chmod(mode)
    assert parser.parse_table_path() is False


@pytest.mark.parametrize("linked", ["folder", "file"])
def test_it_is_not_loaded_through_a_link(cache: Path, tmp_path: Path, linked: str) -> None:
    (tmp_path / "other").mkdir()
    if linked == "folder":
        cache.parent.mkdir()
        cache.symlink_to(tmp_path / "other")
    else:
        Path(str(parser.parse_table_path())).symlink_to(tmp_path / "other")
    assert parser.parse_table_path() is False


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() != 0, reason="only the administrator gives files away"
)
def test_it_is_not_loaded_from_somebody_elses_folder(cache: Path) -> None:
    cache.mkdir(parents=True)
    os.chown(cache, 12_345, 12_345)
    assert parser.parse_table_path() is False
