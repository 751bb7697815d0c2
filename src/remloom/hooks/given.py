"""What an agent is given: words for its context, and the records that they are of."""

from __future__ import annotations

from msgspec import Struct

TAG = "remloom-memory"  # by which readers of transcripts leave it out


class AgentContext(Struct, frozen=True, kw_only=True):
    """A text for a model's context; empty: nothing is given, and `why` says why not."""

    text: str = ""
    ids: tuple[str, ...] = ()
    why: str = ""
    tokens: int = 0
    digest: str = ""  # of what the records said; of what is given later
    milliseconds: float = 0.0


def enclosed(text: str) -> str:
    """The text between the tags of what a memory adds."""
    return f"<{TAG}>\n{text}\n</{TAG}>"
