"""Remloom as the memory of agent frameworks, each by its own contract and each an extra.

A module here imports Remloom and its own framework; what several of them need, such as
`conversation`, imports no framework.
"""

from __future__ import annotations

import json
from uuid import NAMESPACE_URL, uuid5


def record_id(*key: str | int) -> str:
    """Make the id of a record from its exact key: UUIDv5, the same in every process.

    >>> record_id("a", "b")
    '8b52ec9d-3013-5520-9d79-e82fa85fc5a6'
    """
    # as JSON, in ASCII, no two keys are written alike
    return str(uuid5(NAMESPACE_URL, "https://remloom.dev/adapters/" + json.dumps(key)))
