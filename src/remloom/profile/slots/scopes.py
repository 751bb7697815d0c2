"""Scopes: where something holds: everywhere, in a domain, in a project, in a session."""

from __future__ import annotations

from ... import labels
from ...errors import InvalidInputError, LabelError

_KINDS = ("domain", "project", "session")
_LONGEST = 200  # characters


def check_scope(scope: object) -> str:
    """Return a scope in its one form: empty, or "<kind>:<name>", where the name is a label's key.

    Raises:
        InvalidInputError: it is neither, or has more than 200 characters.

    >>> check_scope("project: Apollo Next "), check_scope("Domain:coding")
    ('project:apollo-next', 'domain:coding')
    """
    if not isinstance(scope, str):
        raise _no_scope(scope)
    if not scope.strip():
        return ""
    text = " ".join(scope.split())
    kind, _, name = text.partition(":")
    kind = kind.strip().casefold()
    if kind not in _KINDS or not text.isprintable() or len(scope) > _LONGEST:
        raise _no_scope(scope)
    try:
        return f"{kind}:{labels.key(name)}"
    except LabelError as error:
        raise _no_scope(scope) from error


def _no_scope(scope: object) -> InvalidInputError:
    return InvalidInputError(
        f"{str(scope)[:_LONGEST]!r} is not a scope",
        remedy='leave it empty, or give "domain:coding", "project:apollo" or "session:42"',
    )
