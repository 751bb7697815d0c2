"""What a prompt is given: the episode that decides it, once, where one does; mostly nothing.

What is recalled at every prompt does more harm than good: so the search has to be sure, and what a
session was given once is not given again.
"""

from __future__ import annotations

from collections.abc import Set

from ..memory import Memory
from ..retrieve.prompt_context import text_of
from .given import AgentContext, enclosed

TOKENS = 600  # at most

_EPISODES = 1  # besides what amends it


def of(memory: Memory, prompt: str, given: Set[str]) -> AgentContext:
    """The episode that decides a prompt, but for what the session has been given."""
    if not prompt.strip():
        return AgentContext(why="the prompt is empty")
    recalled = memory.recall(
        prompt, unit="episode", limit=_EPISODES, budget_tokens=TOKENS, neighbours=0
    )
    if not recalled.hits:
        return AgentContext(why=recalled.reason or "nothing answers it")
    ids = tuple(hit.id for hit in recalled.hits)
    if not set(ids) - given:
        return AgentContext(why="the session has been given it")
    return AgentContext(
        text=enclosed(text_of(recalled)),
        ids=ids,
        why=f"it decides the prompt with a probability of {recalled.episodes[0].score:.2f}",
        tokens=recalled.tokens,
    )
