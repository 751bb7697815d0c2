"""Nothing that Remloom uses reaches for the network, or keeps a file elsewhere than it was told."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import offline_program

TESTS = Path(__file__).parent
# what asks a library to report to its maker, if it is one that heeds it
TEMPTATIONS = {
    "LANGSMITH_TRACING": "true",
    "LANGCHAIN_TRACING_V2": "true",
    "LANGSMITH_API_KEY": "key",
    "OPENAI_API_KEY": "key",
    "LOGFIRE_TOKEN": "token",
}
# a connection, also to the service that looks names up; urllib3 alone makes a socket to see whether
# there is IPv6
_NETWORK = re.compile(r"\b(?:connect\(|socket\(AF_INET6?, SOCK_DGRAM|send(?:to|msg)\(.*AF_INET)")
# a file that is made or opened to be written, a name that is given or taken: the folder it is
# relative to, as strace shows it, and its path
_OPENED = re.compile(r'\bopenat\(\w+(?:<([^>]*)>)?, "([^"]+)", [^)]*\bO_CREAT\b.*\) = \d')
_NAMED = re.compile(
    r'\b(?:mkdir|rename|link|symlink|mknod|unlink)\w*\((?:.*\b\w+<([^>]*)>, )?.*"([^"]+)".*\) = 0'
)


@cache
def why_not_traced() -> str:
    """Why system calls cannot be traced here; empty when they can."""
    if shutil.which("strace") is None:
        return "strace is not installed: only the sockets of Python code are forbidden"
    tried = subprocess.run(["strace", "-f", "true"], capture_output=True, text=True)
    return tried.stderr.strip() if tried.returncode else ""


def run(part: str, folder: Path, *before: str) -> subprocess.CompletedProcess[str]:
    """Run a part of the program in an environment of its own, below this folder."""
    work = folder / "work"
    for name in ("home", "cache", "tmp", "work"):
        (folder / name).mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(path for path in (str(TESTS), *sys.path) if path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(folder / "home"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "TMPDIR": str(folder / "tmp"),
        **TEMPTATIONS,
    }
    program = [sys.executable, str(TESTS / "offline_program.py"), part, str(work)]
    return subprocess.run(
        [*before, *program], env=environment, cwd=work, capture_output=True, text=True
    )


@pytest.mark.model
@pytest.mark.parametrize("part", offline_program.PARTS)
def test_nothing_reaches_for_the_network_and_nothing_is_kept_outside_of_the_home(
    part: str, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    why = why_not_traced()
    traced = ["strace", "-f", "-qq", "-y", "-e", "trace=network,%file", "-o", str(trace)]
    done = run(part, tmp_path, *([] if why else traced))
    assert done.returncode == 0, done.stderr

    kept = [path for name in ("home", "cache", "tmp") for path in (tmp_path / name).iterdir()]
    # which files of models were checked
    assert set(kept) <= {tmp_path / "cache" / "remloom"}
    if why:
        pytest.skip(why)
    calls = trace.read_text(errors="replace").splitlines()
    assert [call for call in calls if _NETWORK.search(call)] == []
    changed = [
        os.path.join(match[1] or "", match[2])
        for call in calls
        if (match := _OPENED.search(call) or _NAMED.search(call))
    ]
    assert len(changed) > 1
    assert [path for path in changed if not path.startswith((str(tmp_path), "/dev/"))] == []


def test_what_imports_onnxruntime_finds_its_telemetry_off_and_the_environment_is_left_as_it_was(
    tmp_path: Path,
) -> None:
    (tmp_path / "onnxruntime.py").write_text(
        "import os\nseen = os.environ.get('ORT_DISABLE_TELEMETRY')\n"
    )
    program = (
        "import os; from remloom.local_models import load_onnxruntime; before = dict(os.environ);"
        "print(load_onnxruntime().seen, load_onnxruntime().seen, dict(os.environ) == before)"
    )
    for given, expected in (({}, "1 1 True"), ({"ORT_DISABLE_TELEMETRY": "0"}, "0 0 True")):
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)} | given
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        assert done.stdout.strip() == expected, done.stderr


@pytest.mark.parametrize("library", ["fastembed", "markitdown", "rapidocr", "onnxruntime"])
def test_no_library_that_loads_onnxruntime_is_imported_before_its_telemetry_is_off(
    library: str,
) -> None:
    sources = [
        path for path in (TESTS.parent / "src").rglob("*.py") if path.name != "local_models.py"
    ]
    statement = re.compile(rf"^[ \t]+(?:from|import) {library}\b", re.M)
    found = [
        (path, match.start()) for path in sources for match in statement.finditer(path.read_text())
    ]
    assert found or library == "onnxruntime"
    for path, at in found:
        above = path.read_text()[:at].rstrip().rpartition("\n")[2]
        assert above.strip() == "load_onnxruntime()", f"{path}: import of {library}"
