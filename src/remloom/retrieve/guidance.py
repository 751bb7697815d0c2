"""What a user told an assistant to heed: standing orders ("Always …") and preferences ("I'd rather
…").

They govern later requests, and mostly share no words with them. English only.
"""

from __future__ import annotations

import re

from ..model import Resource
from ..model.roles import ASSISTANT, USER
from .candidates import Candidate, Candidates
from .names import speaker_key

__all__ = ["is_instruction", "is_preference", "replies", "said_by_users"]

_INSTRUCTION = re.compile(
    r"\b(?:always|never|from now on|whenever|(?:each|every) time|in (?:all|every|each) "
    r"|please (?:use|keep|write|include|remember|do(?:n['’]t| not)|make|format|cite|address)"
    r"|don['’]t ever|make sure|remember to|when I ask|in the future|going forward)\b"
    r"|(?:^|[.!?]\s+)(?:please\s+)?(?:use|write|keep|include|format|give|provide|answer|respond"
    r"|reply|state|cite|show|explain|list|mention|name|avoid|add|define|assume|ensure)\b[^.!?]*"
    r"\b(?:every|each|all|any|whenever|when)\b",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\b(?:I|we)(?:['’]d| would)? "
    r"(?:(?:really|much|just|always|never|do not|don['’]t|can(?:no|['’])t|absolutely) )*"
    r"(?:prefer|like|love|hate|enjoy|avoid|stand|adore|dislike|rather|favou?r|refuse|detest|eat"
    r"|drink|collect|learn best)\b"
    r"|\b(?:I['’]m|I am|we['’]re|we are) (?:(?:a|an|so|very|not) )?"
    r"(?:vegetarian|vegan|allergic|left-handed|sober|happiest|afraid|keen|fond|\w+ person)\b"
    r"|\b(?:favou?rite|prefer\w*|makes? me|maddening|bores?|disgusts?|rather than|more than"
    r"|instead of|out of the question|not negotiable)\b",
    re.IGNORECASE,
)


def replies(candidates: Candidates) -> list[Candidate]:
    """The turns that an assistant said."""
    return [turn.candidate for turn in candidates.turns if turn.role == ASSISTANT]


def said_by_users(candidates: Candidates) -> list[tuple[Candidate, Resource]]:
    """The turns of those whom an assistant serves: who talks with it in a chat, alone.

    What a document says, or a tool, or people among themselves, is no order to an assistant; where
    several talk with it, nobody knows whose orders count.
    """
    chats: set[str] = set()
    said: list[tuple[Candidate, Resource]] = []
    for turn in candidates.turns:
        record = turn.record
        if record.trust == "derived":
            continue
        if turn.role == ASSISTANT:
            chats.add(record.uri)
        elif turn.speaker and turn.role in (USER, ""):
            said.append((turn.candidate, record))
    if not chats:
        return []
    speakers: dict[str, set[str]] = {}
    for _, record in said:
        if record.uri in chats:
            speakers.setdefault(record.uri, set()).add(speaker_key(record))
    users = {key for keys in speakers.values() if len(keys) == 1 for key in keys}
    return [(one, record) for one, record in said if speaker_key(record) in users]


def is_instruction(turn: Resource) -> bool:
    """Whether a turn says how something is to be done whenever it comes up."""
    return _INSTRUCTION.search(turn.content) is not None


def is_preference(turn: Resource) -> bool:
    """Whether a turn says what its speaker likes, avoids, or is."""
    return _PREFERENCE.search(turn.content) is not None
