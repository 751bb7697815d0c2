"""The words of a message that is a text, or a list of parts of which some are texts."""

from __future__ import annotations

from typing import Any

__all__ = ["words"]

_TEXTS = ("text", "input_text", "output_text")  # types of the parts that are words


def words(content: Any) -> str:
    """Join what was said; calls of tools, what they returned, thoughts and files are left out.

    >>> words([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Yes."}, "No."])
    'Yes.\\nNo.'
    """
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, list):
        return ""
    texts = (_text(part) for part in content)
    return "\n".join(text for text in texts if text)


def _text(part: Any) -> str:
    if isinstance(part, dict) and part.get("type") in _TEXTS:
        part = part.get("text")
    return part.strip() if isinstance(part, str) else ""
