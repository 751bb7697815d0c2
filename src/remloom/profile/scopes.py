"""Scopes: where something holds: everywhere, in a domain, in a project, in a session."""

from __future__ import annotations

from ..errors import InvalidInputError

__all__ = ["check_scope"]

_KINDS = ("domain", "project", "session")


def check_scope(scope: object) -> str:
    """Return a scope with single spaces: empty, or "<kind>:<name>".

    Raises:
        InvalidInputError: it is neither.

    >>> check_scope("project: Apollo ")
    'project: Apollo'
    """
    text = " ".join(scope.split()) if isinstance(scope, str) else ""
    kind, _, name = text.partition(":")
    is_scope = isinstance(scope, str) and (not text or (kind in _KINDS and name.strip()))
    if not is_scope or not text.isprintable():
        raise InvalidInputError(
            f"{scope!r} is not a scope",
            remedy='leave it empty, or give "domain:coding", "project:apollo" or "session:42"',
        )
    return text
