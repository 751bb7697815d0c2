"""Files beside the memories of a home that quote them: what coding agents begin with while no
process of the home is up. None may outlive what it quotes."""

from __future__ import annotations

from pathlib import Path

BRIEFS = ("hooks", "briefs")  # their folder in a home


def discard_briefs(home: str) -> None:
    """Remove the briefs of a home, a folder; they are made again when a session begins."""
    if "://" not in home:
        for path in Path(home, *BRIEFS).glob("*"):
            path.unlink(missing_ok=True)
