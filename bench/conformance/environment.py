"""An environment beside ours for what suites need and our own tests must not see: plugins of
pytest, versions of their own."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import platformdirs

__all__ = ["CACHE", "interpreter"]

CACHE = platformdirs.user_cache_path("remloom") / "conformance"


def interpreter(requires: Sequence[str]) -> str:
    """Give a Python that has what ours has and these packages, which are installed once.

    Raises:
        SystemExit: they cannot be installed.
    """
    if not requires:
        return sys.executable
    folder = CACHE / f"venv-{sys.version_info.major}.{sys.version_info.minor}"
    python = folder / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(folder)])
    ours = sysconfig.get_path("purelib")
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    # what is installed here goes before what is installed there
    (site / "remloom-environment.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    installed = folder / "installed.txt"
    known = installed.read_text().split() if installed.exists() else []
    if missing := [wanted for wanted in requires if wanted not in known]:
        _run([str(python), "-m", "pip", "install", "--quiet", *missing])
        installed.write_text("\n".join([*known, *missing]))
    return str(python)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}:\n{done.stderr}")
