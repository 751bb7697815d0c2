"""What a session begins with: what went on in a project last."""

from __future__ import annotations

from ..memory import Memory
from .given import Given, enclosed
from .project import Project

_SESSIONS = 10


def of(memory: Memory, project: Project) -> Given:
    """The brief of a project; empty if nothing is known of it."""
    rows = memory.sql(
        "SELECT id, name, starts_at FROM moments WHERE type = 'conversation' "
        f"ORDER BY starts_at DESC LIMIT {_SESSIONS}"
    ).rows
    if not rows:
        return Given(why="nothing is known of this project yet")
    lines = [f"What was worked on in {project.title} before, the newest first:"]
    lines += [f"- {str(at)[:10]} {name}" for _, name, at in rows]
    text = enclosed("\n".join(lines))
    return Given(text=text, ids=tuple(str(row[0]) for row in rows), why="the last sessions")
