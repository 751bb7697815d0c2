"""Addresses of servers as messages show them: without what is secret in them."""

from __future__ import annotations

import httpx

_UNREADABLE = "an address that cannot be read"


def shown(url: str) -> str:
    """Give an address without a user, a password, a query and a fragment.

    >>> shown("https://ann:secret@memory.example:8765/v1?token=abc")
    'https://memory.example:8765/v1'
    """
    if not any(mark in url for mark in "@?#"):
        return url
    try:
        read = httpx.URL(url)
    except httpx.InvalidURL:
        return _UNREADABLE
    if not read.host:
        return _UNREADABLE
    return str(read.copy_with(username=None, password=None, query=None, fragment=None))
