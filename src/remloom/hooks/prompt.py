"""What a prompt is given: what was said of it before, where it helps."""

from __future__ import annotations

from collections.abc import Set

from ..memory import Memory
from .given import Given, enclosed

_TOKENS = 600


def of(memory: Memory, prompt: str, given: Set[str]) -> Given:
    """What helps with a prompt, but for what the session has been given."""
    if not prompt.strip():
        return Given(why="the prompt is empty")
    recalled = memory.recall(prompt, budget_tokens=_TOKENS, limit=3)
    hits = [hit for hit in recalled.hits if hit.id not in given]
    if not hits:
        return Given(why=recalled.reason or "nothing answers it")
    lines = [f"- {hit.content}" for hit in hits]
    text = enclosed("\n".join(["Said before:", *lines]))
    return Given(text=text, ids=tuple(hit.id for hit in hits), why="", tokens=recalled.tokens)
