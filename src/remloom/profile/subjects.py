"""Subjects: the people of whom something is known. The user is one, by any of their names."""

from __future__ import annotations

from ..settings import Settings
from .evidence import ME, value_key

__all__ = ["is_assistant", "resolve", "subject_of_speaker"]

# what programs call the user, and their own side, in chats
_USER = frozenset(("user", "human", "me", "myself", "you", "customer", "prompt"))
_ASSISTANT = frozenset(
    ("assistant", "ai", "bot", "system", "tool", "model", "agent", "developer", "chatgpt", "claude")
)


def resolve(name: str, settings: Settings) -> str:
    """The subject that a name stands for: the user for an empty one, and for each of theirs."""
    text = " ".join(name.split())
    own = (settings.profile_subject, *settings.profile_names.split(","))
    names = _USER.union(map(value_key, own))
    return ME if not text or value_key(text) in names else text


def subject_of_speaker(speaker: str, settings: Settings) -> str:
    """Of whom the words of a speaker tell; empty for a program's."""
    return "" if is_assistant(speaker) else resolve(speaker, settings)


def is_assistant(speaker: str) -> bool:
    """Whether a speaker is a program, not a person."""
    return value_key(speaker) in _ASSISTANT
