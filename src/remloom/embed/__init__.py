"""Embedders, which turn texts into vectors, and token encoders, which make a vector a token. `load`
and `load_token_encoder` make one from its name, cheaply."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import EmbedderError, UnknownNameError
from .contract import Embedder, TokenEncoder
from .function import FunctionEmbedder

if TYPE_CHECKING:
    from ..settings import Settings

__all__ = [
    "Embedder",
    "FunctionEmbedder",
    "TokenEncoder",
    "check_name",
    "check_token_encoder_name",
    "default_token_encoder",
    "kept_name",
    "load",
    "load_token_encoder",
]

_KNOWN = ("minilm", "bge", "openai:<model>", "fastembed:<model>", "none")
_TOKEN_ENCODERS = ("colbert", "none")
# with an embedder that is given by its name, where nothing is set
_DEFAULT_ENCODER = "colbert"

_log = logging.getLogger(__name__)


def check_name(name: str) -> None:
    """Refuse a name that `load` does not know, without importing anything."""
    provider, _, model = name.partition(":")
    if provider not in (("openai", "fastembed") if model else ("minilm", "bge", "none")):
        raise UnknownNameError("embedder", name, _KNOWN)


def check_token_encoder_name(name: str) -> None:
    """Refuse a name that `load_token_encoder` does not know, without importing anything."""
    if name not in _TOKEN_ENCODERS:
        raise UnknownNameError("token encoder", name, _TOKEN_ENCODERS)


def kept_name(stored: str) -> str:
    """The name of the bundled embedder that made vectors of the name `stored`; "" for others."""
    from .bundled.sentence_embedder import BgeSmall, MiniLM

    return {MiniLM.name: "minilm", BgeSmall.name: "bge"}.get(stored, "")


def load(name: str, settings: Settings) -> Embedder | None:
    """Make the embedder of a name; None for "none". Its model loads when first used.

    Args:
        name: `minilm` and `bge` (bundled), `openai:<model>` (any OpenAI-compatible endpoint),
            `fastembed:<model>` (extra), or `none`.
        settings: have the endpoint, its key, the model folder and the number of threads.

    Raises:
        UnknownNameError: no embedder has this name.
        MissingExtraError: the extra it needs is not installed.
    """
    from .answers import CachedQueries

    check_name(name)
    provider, _, model = name.partition(":")
    threads = settings.threads
    match provider:
        case "minilm":
            from .bundled.sentence_embedder import MiniLM

            folder = str(settings.model_dir)
            return CachedQueries(_shared(MiniLM, os.getpid(), threads=threads, model_dir=folder))
        case "bge":
            from .bundled.sentence_embedder import BgeSmall

            return CachedQueries(_shared(BgeSmall, os.getpid(), threads=threads))
        case "openai":
            from .openai import OpenAIEmbedder

            base_url = settings.embedder_base_url or settings.llm_base_url
            key = settings.embedder_api_key or settings.llm_api_key
            return CachedQueries(OpenAIEmbedder(model, base_url=base_url, api_key=key))
        case "fastembed":
            from .fastembed import FastEmbedder

            return CachedQueries(FastEmbedder(model, threads=threads))
    return None


def load_token_encoder(name: str, settings: Settings) -> TokenEncoder | None:
    """Make the token encoder of a name; None for "none". Its model loads when first
    used.

    Raises:
        UnknownNameError: no token encoder has this name.
    """
    from .answers import CachedTokenQueries
    from .bundled.colbert import ColbertSmall

    check_token_encoder_name(name)
    if name == "none":
        return None
    return CachedTokenQueries(_shared(ColbertSmall, os.getpid(), threads=settings.threads))


def default_token_encoder(settings: Settings, made_by: Sequence[str] = ()) -> TokenEncoder | None:
    """Make the token encoder that serves where none is set; None where its files are not there, or
    are not those that they should be.

    Args:
        made_by: the encoders whose token vectors a memory has. The default replaces no other one.
    """
    from .bundled.colbert import ColbertSmall

    if not all(name.startswith(ColbertSmall.files.model) for name in made_by):
        return None
    try:
        ColbertSmall.files.find()
    except (EmbedderError, OSError) as error:
        # who has not installed it does without; who has should hear that it is of no use
        if not isinstance(error, EmbedderError) or error.fields:
            _log.warning("no late interaction: %s", error)
        return None
    return load_token_encoder(_DEFAULT_ENCODER, settings)


@cache
def _shared(kind: Callable[..., Any], process: int, **options: Any) -> Any:
    """A model that is loaded once for all memories of a process; a fork, which does not have the
    threads, loads its own."""
    return kind(**options)
