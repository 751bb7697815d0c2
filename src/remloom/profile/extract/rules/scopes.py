"""Where what is said of tools holds: "in project Apollo"."""

from __future__ import annotations

import re

_BEHAVIOUR = ("developer_posture.", "runtime_environments.", "tooling_defaults.")
_PROJECT = re.compile(
    r"\b(?:[Ii]n|[Ff]or|[Oo]n) (?:(?:the )?project (?P<behind>[A-Z][\w-]+)"
    r"|the (?P<before>[A-Z][\w-]+) project)\b"
)
_UNNAMED = re.compile(
    r"\b(?:in|for|on) (?:this|the current|our) (?:project|repo|repository|codebase|chat)\b",
    re.IGNORECASE,
)


def find_scope(sentence: str, key: str) -> str:
    """The scope that a sentence gives to a claim of this key; empty is everywhere.

    Who somebody is holds everywhere, whatever their sentence is about.

    >>> find_scope("In project Apollo we use Go", "developer_posture.primary_languages")
    'project:apollo'
    """
    project = _PROJECT.search(sentence)
    if project is None or not key.startswith(_BEHAVIOUR):
        return ""
    return f"project:{(project['behind'] or project['before']).casefold()}"


def is_of_unnamed_project(sentence: str) -> bool:
    """Whether it is about a project that only its place tells: "in this repo"."""
    return bool(_UNNAMED.search(sentence))
