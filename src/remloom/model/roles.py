"""The roles in a chat with an assistant, and what they are called."""

from __future__ import annotations

import re
from functools import lru_cache

USER = "user"
ASSISTANT = "assistant"
NOBODY = "nobody"  # pages, files and programs that speak in a chat, and those who made them

_ROLES = {
    USER: ("customer", "human", "user"),
    ASSISTANT: (
        "agent", "ai", "assistant", "bot", "chatbot", "chatgpt", "claude", "gemini", "gpt", "model"
    ),
    NOBODY: (
        "browser", "computer", "developer", "environment", "function", "ipython", "observation",
        "plugin", "result", "retrieval", "search", "system", "tool", "toolresult", "web",
    ),
}  # fmt: skip
_BY_WORD = {word: role for role, words in _ROLES.items() for word in words}
_LAST = ("assistant", "bot", "chatbot")  # of a name, whatever stands before
_PARTS = re.compile(r"[\s_-]+")


@lru_cache(maxsize=1024)
def role_of(name: str) -> str:
    """The role that a name is for; empty for one that is for none, such as a person's.

    >>> role_of("Human"), role_of("Support bot"), role_of("AI agent"), role_of("tool")
    ('user', 'assistant', 'assistant', 'nobody')
    >>> role_of("Claude"), role_of("Claude Monet")
    ('assistant', '')
    """
    words = _PARTS.split(name.strip().casefold())
    is_known = words[-1] in _LAST or all(word in _BY_WORD for word in words)
    return _BY_WORD[words[-1]] if is_known else ""
