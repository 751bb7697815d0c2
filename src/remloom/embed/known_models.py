"""The model cards of embedders that were measured here, by the name of their vectors."""

from __future__ import annotations

from .bundled.sentence_embedder import BgeSmall, MiniLM
from .contract import Embedder
from .model_card import ModelCard

_KNOWN = {kind.name: kind.model_card for kind in (MiniLM, BgeSmall)}


def model_card_named(name: str) -> ModelCard | None:
    """The model card of the embedder whose vectors have this name, where it is known."""
    return _KNOWN.get(name)


def model_card_of(embedder: Embedder) -> ModelCard | None:
    """The model card that an embedder brings along, else the one known by its name."""
    own = getattr(embedder, "model_card", None)
    # Embedders of one name make comparable vectors, so its figures hold for all of them.
    return own if isinstance(own, ModelCard) else model_card_named(embedder.name)
