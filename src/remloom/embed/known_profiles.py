"""The profiles of embedders that were measured here, by the name of their vectors."""

from __future__ import annotations

from .contract import Embedder
from .minilm import MiniLM
from .profile import EmbedderProfile

__all__ = ["profile_named", "profile_of"]

_KNOWN = {MiniLM.name: MiniLM.profile}


def profile_named(name: str) -> EmbedderProfile | None:
    """The profile of the embedder whose vectors have this name, where it is known."""
    return _KNOWN.get(name)


def profile_of(embedder: Embedder) -> EmbedderProfile | None:
    """The profile that an embedder brings along, else the one known by its name."""
    own = getattr(embedder, "profile", None)
    # Embedders of one name make comparable vectors, so its figures hold for all of them.
    return own if isinstance(own, EmbedderProfile) else profile_named(embedder.name)
