"""Token encoders, which turn texts into a vector a token. `load_token_encoder` makes one from its
name, cheaply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import EmbedderError
from . import check_token_encoder_name
from .colbert import ColbertSmall
from .queries import CachedTokenQueries

if TYPE_CHECKING:
    from ..settings import Settings
    from .contract import TokenEncoder

__all__ = ["default_token_encoder", "load_token_encoder"]

# Beside an embedder that is given by its name, where nothing is set. With "none", late interaction
# is there only for those who ask for it.
DEFAULT = "colbert"


def load_token_encoder(name: str, settings: Settings) -> TokenEncoder | None:
    """Make the token encoder that a name stands for; None for "none". Its model loads when first
    used.

    Raises:
        UnknownNameError: no token encoder has this name.
    """
    check_token_encoder_name(name)
    if name == "none":
        return None
    return CachedTokenQueries(ColbertSmall(threads=settings.threads))


def default_token_encoder(settings: Settings) -> TokenEncoder | None:
    """Make the token encoder that serves where none is set; None where its files are not there, or
    are not those that they should be."""
    try:
        ColbertSmall.files.find()
    except (EmbedderError, OSError):
        return None
    return load_token_encoder(DEFAULT, settings)
