"""The purpose that a context is for: it decides what may be in it."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias, get_args

from ...errors import UnknownNameError

Purpose: TypeAlias = Literal[
    # where soft identity may be used, unless the user says otherwise
    "chat",
    "recommend",
    "example",
    # work
    "general",
    "coding",
    "tools",
    "planning",
    "research",
    "formatting",
    "reasoning",
    "clarification",
    # what may do harm: security, and what cannot be undone
    "security",
    "risk",
    # moving the user to do something
    "persuade",
    # what other people read, and what is about them: only if the caller says so, nothing of what
    # could hurt is given
    "letter",
    "somebody_else",
]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)

# purposes of the agents that seed 4 is for; any other's is told from its query
_AGENTS: dict[str, Purpose] = {
    "planner": "planning",
    "coder": "coding",
    "distiller": "coding",
    "formatter": "formatting",
    "retriever": "research",
    "thinker": "reasoning",
    "clarification": "clarification",
}
# what restrains whichever agent asks
_RESTRAINED: frozenset[Purpose] = frozenset(
    ("letter", "somebody_else", "security", "risk", "persuade")
)


def check_purpose(name: str) -> Purpose:
    """Return the purpose of this name.

    Raises:
        UnknownNameError: there is no such purpose.
    """
    if name not in PURPOSES:
        raise UnknownNameError("purpose", name, PURPOSES)
    return name


def purpose_for(agent: str, told: Purpose) -> Purpose:
    """Return the purpose of an agent that is asked something whose purpose is told.

    What restrains goes first, whoever asks: a letter of a coding agent is a letter.

    >>> purpose_for("CoderAgent", "recommend"), purpose_for("CoderAgent", "letter")
    ('coding', 'letter')
    """
    name = re.sub(r"[\W_]", "", agent).casefold().removesuffix("agent")
    return told if told in _RESTRAINED else _AGENTS.get(name, told)
