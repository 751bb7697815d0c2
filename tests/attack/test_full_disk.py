"""No room left in the middle of every kind of work: an error of ours says so, nothing is lost, and
it can go on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from labours import KINDS, MODELLED
from mortal import Ground, Trial

pytestmark = [pytest.mark.crash, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]
SHORT = ("batches", "forget", "export", "tenants")
MEGABYTES = 48  # of the small disk


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    ground = Ground()
    yield ground
    ground.close()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own; whoever may not mount one is told so."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", folder],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("only root mounts a disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=False)


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_loses_nothing_and_is_said(
    kind: str, disk: Path, ground: Ground, rounds: Callable[[int, int], int], counted: Callable[[str, int], None],
    long: bool,
) -> None:  # fmt: skip
    if not long and kind not in SHORT:
        pytest.skip("in the long form")
    times = rounds(1, 6 if kind in MODELLED else 12)
    trial = Trial(
        kind,
        str(disk / "home"),
        str(disk / "scratch"),
        times,
        seed=3,
        ways=("disk",),
        disk=str(disk),
    )
    found = ground.try_(trial)
    assert not found.wrong, "\n".join(found.wrong)
    counted("a disk became full in the middle of work, sqlite", found.kills)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_may_not_grow_loses_nothing_and_is_said(
    kind: str, tmp_path: Path, ground: Ground, rounds: Callable[[int, int], int], counted: Callable[[str, int], None],
    long: bool,
) -> None:  # fmt: skip
    if not long and kind != "batches":
        pytest.skip("in the long form")
    times = rounds(1, 4 if kind in MODELLED else 8)
    trial = Trial(
        kind, str(tmp_path / "home"), str(tmp_path / "scratch"), times, seed=4, ways=("size",)
    )
    found = ground.try_(trial)
    assert not found.wrong, "\n".join(found.wrong)
    counted("a file might not grow in the middle of work, sqlite", found.kills)
