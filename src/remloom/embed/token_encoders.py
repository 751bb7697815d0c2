"""Token encoders, which turn texts into a vector a token. `load_token_encoder` makes one from its
name, cheaply."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from ..errors import EmbedderError
from . import check_token_encoder_name
from .bundled.colbert import ColbertSmall
from .queries import CachedTokenQueries

if TYPE_CHECKING:
    from ..settings import Settings
    from .contract import TokenEncoder


# Beside an embedder that is given by its name, where nothing is set. With "none", late interaction
# is there only for those who ask for it.
DEFAULT = "colbert"

_log = logging.getLogger(__name__)


def load_token_encoder(name: str, settings: Settings) -> TokenEncoder | None:
    """Make the token encoder that a name stands for; None for "none". Its model loads when first
    used.

    Raises:
        UnknownNameError: no token encoder has this name.
    """
    check_token_encoder_name(name)
    if name == "none":
        return None
    return CachedTokenQueries(_shared(ColbertSmall, os.getpid(), settings.threads))


@cache
def _shared(kind: type[ColbertSmall], process: int, threads: int) -> ColbertSmall:
    """The encoder whose model is loaded once for all memories of a process.

    One that was forked from it has its own: threads do not come along.
    """
    return kind(threads=threads)


def default_token_encoder(settings: Settings, made_by: Sequence[str] = ()) -> TokenEncoder | None:
    """Make the token encoder that serves where none is set; None where its files are not there, or
    are not those that they should be.

    Args:
        made_by: the encoders whose token vectors a memory has. One that was brought is not replaced
            by who says nothing of it: there is no default then.
    """
    if not all(name.startswith(ColbertSmall.files.model) for name in made_by):
        return None
    try:
        ColbertSmall.files.find()
    except (EmbedderError, OSError) as error:
        # who has not installed it does without; who has should hear that it is of no use
        if not isinstance(error, EmbedderError) or error.fields:
            _log.warning("no late interaction: %s", error)
        return None
    return load_token_encoder(DEFAULT, settings)
