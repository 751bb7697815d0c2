"""Downloads a suite at its pinned version and runs it, pointed at Remloom, in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from importlib import import_module
from pathlib import Path

from .environment import CACHE, interpreter
from .outcomes import Outcome, Outcomes
from .suite import HERE, Suite

__all__ = ["download", "run_suite"]

_ROOT = HERE.parent.parent
_PYTEST = ("-q", "-o", "addopts=", "-W", "ignore", "-p", "no:cacheprovider")
# plugins of ours that others' tests do not need
_LEFT_OUT = ("-p", "no:schemathesis")


def run_suite(suite: Suite, *, verbose: bool = False) -> Outcomes:
    """Run a suite; returns what became of each test.

    Raises:
        SystemExit: it cannot be downloaded, or does not run at all.
    """
    folder = download(suite) if suite.source == "sdist" else _ROOT
    if suite.runner == "module":
        outcomes: Outcomes = import_module(suite.plugin).run(suite, folder)
        return outcomes
    return _run_pytest(suite, folder, verbose=verbose)


def download(suite: Suite) -> Path:
    """Give the folder of a suite's sources; they are downloaded once.

    Raises:
        SystemExit: the package index does not have them.
    """
    folder = CACHE / f"{suite.package}-{suite.version}"
    if folder.exists():
        return folder
    with tempfile.TemporaryDirectory() as name:
        wanted = f"{suite.package}=={suite.version}"
        options = ("--quiet", "--no-deps", "--no-binary", ":all:", "--dest", name)
        command = [sys.executable, "-m", "pip", "download", *options, wanted]
        done = subprocess.run(command, capture_output=True, text=True)
        archives = list(Path(name).glob("*.tar.gz"))
        if done.returncode or not archives:
            raise SystemExit(f"{wanted} cannot be downloaded:\n{done.stderr}")
        unpacked = Path(name) / "unpacked"
        with tarfile.open(archives[0]) as archive:
            archive.extractall(unpacked, filter="data")
        CACHE.mkdir(parents=True, exist_ok=True)
        # whole or not at all, also beside another run
        moved = Path(tempfile.mkdtemp(dir=CACHE)) / "sources"
        subprocess.run(["cp", "-r", str(next(unpacked.iterdir())), str(moved)], check=True)
        try:
            moved.rename(folder)
        except OSError:
            if not folder.exists():
                raise
        return folder


def _run_pytest(suite: Suite, folder: Path, *, verbose: bool) -> Outcomes:
    with tempfile.TemporaryDirectory() as name:
        left_out, written = Path(name) / "left-out.json", Path(name) / "outcomes.json"
        left_out.write_text(json.dumps(suite.not_applicable), "utf-8")
        plugins = ("-p", f"{__package__}.recorder", "-p", suite.plugin)
        rooted = ("--rootdir", str(folder), "--basetemp", str(Path(name) / "tmp"))
        python = interpreter(suite.requires)
        command = [python, "-m", "pytest", *_PYTEST, *_LEFT_OUT, *plugins, *rooted, *suite.options]
        paths = [str(_ROOT), str(_ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "CONFORMANCE_LEFT_OUT": str(left_out),
            "CONFORMANCE_OUTCOMES": str(written),
        }
        done = subprocess.run(
            [*command, *suite.tests], cwd=folder, env=environment, capture_output=True, text=True
        )
        if verbose or not written.exists():
            print(done.stdout[-20_000:], done.stderr[-5_000:], sep="\n")
        if not written.exists():
            raise SystemExit(f"{suite.name} did not run (pytest ended with {done.returncode})")
        tests = tuple(Outcome(*row) for row in json.loads(written.read_text("utf-8")))
    return Outcomes(suite.name, suite.title, suite.package, suite.version, tests)
