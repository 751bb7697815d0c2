"""A hook of schemathesis, which rewrites `prefixItems` to the lists of older drafts: its own
validator of responses rejects those. It gets tuples without them, and checks only their lengths."""

from __future__ import annotations

from typing import Any

import schemathesis


@schemathesis.hook
def before_load_schema(_context: Any, raw_schema: dict[str, Any]) -> None:
    """Take the kinds of items out of every tuple of a description."""
    waiting: list[Any] = [raw_schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if one.pop("prefixItems", None) is not None:
                one.pop("items", None)
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
