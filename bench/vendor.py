"""Fetch the libraries of the pages: python -m bench.vendor.

They come from npm at the versions below, into `src/remloom/serve/ui/static/vendor/`, each with its
licence; `SHA256SUMS` there has their checksums, which a test compares.
"""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).parent.parent / "src/remloom/serve/ui/static/vendor"
# by package: which of its files is taken, and under which name
FILES: dict[str, dict[str, str]] = {
    "htm@3.1.1": {"preact/standalone.module.js": "htm-preact.js", "LICENSE": "htm.LICENSE"},
    # whose code is in htm's standalone file
    "preact@10.5.13": {"LICENSE": "preact.LICENSE"},
    "cytoscape@3.34.4": {
        "dist/cytoscape.esm.min.mjs": "cytoscape.js",
        "LICENSE": "cytoscape.LICENSE",
    },
}


def fetch(package: str, files: dict[str, str], folder: Path) -> None:
    """Download a package and put the files that are wanted into `VENDOR`."""
    command = ["npm", "pack", "--silent", package]
    packed = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    with tarfile.open(folder / packed.stdout.split()[-1]) as archive:
        for name, kept in files.items():
            member = archive.extractfile(f"package/{name}")
            if member is None:
                raise SystemExit(f"{package} has no file {name}")
            (VENDOR / kept).write_bytes(member.read())


def sums() -> str:
    """Give the checksums of what is there, as `sha256sum` writes them."""
    files = sorted(path for path in VENDOR.iterdir() if path.name != "SHA256SUMS")
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files
    )


def main() -> None:
    """Fetch all of them, and write their checksums."""
    VENDOR.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for package, files in FILES.items():
            fetch(package, files, Path(folder))
    (VENDOR / "SHA256SUMS").write_text(sums(), encoding="utf-8")


if __name__ == "__main__":
    main()
