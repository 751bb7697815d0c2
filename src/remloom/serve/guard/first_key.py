"""The first API key of a server: nobody calls one without a key, not even on one's own machine."""

from __future__ import annotations

from contextlib import suppress

from ...errors import ConflictError, SettingsError
from ...memory.home import Home
from ...settings import Settings
from ...tenancy.api_keys import ApiKeys, NewApiKey, Scope
from .origins import is_loopback

# a key of one tenant has no use for the numbers of the whole server
_FIRST: tuple[Scope, ...] = ("read", "write", "forget", "dream", "admin")


def first_key(keys: ApiKeys, settings: Settings, *, others: bool = False) -> NewApiKey | None:
    """Make the first API key of a server on loopback, and its tenant; None when there are keys.

    Args:
        others: whether callers have another way to show who they are, such as OAuth.

    Raises:
        SettingsError: it is to listen on another address than loopback, and nobody could call it.
    """
    if others or keys.list():
        return None
    host = settings.serve_bind.rpartition(":")[0]
    if not is_loopback(host):
        raise SettingsError(
            f"a server on {settings.serve_bind} needs an API key before it starts",
            setting="serve_bind",
            remedy="make one: remloom keys create NAME --tenant TENANT",
        )
    with suppress(ConflictError):
        Home(settings.home, key=settings.key or None).create(settings.tenant)
    return keys.create("first", _FIRST, tenant=settings.tenant)
