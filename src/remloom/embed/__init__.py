"""Embedders, which turn texts into vectors. `load` makes one from its name, cheaply."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from ..errors import UnknownNameError
from .contract import Embedder, TokenEncoder
from .function import FunctionEmbedder

if TYPE_CHECKING:
    from ..settings import Settings
    from .bundled.sentence_embedder import SentenceEmbedder

__all__ = [
    "Embedder",
    "FunctionEmbedder",
    "TokenEncoder",
    "check_name",
    "check_token_encoder_name",
    "kept_name",
    "load",
]

_KNOWN = ("minilm", "bge", "openai:<model>", "fastembed:<model>", "none")
_TOKEN_ENCODERS = ("colbert", "none")


def check_name(name: str) -> None:
    """Refuse a name that `load` does not know, without importing anything.

    Raises:
        UnknownNameError: no embedder has this name.
    """
    provider, _, model = name.partition(":")
    if provider not in (("openai", "fastembed") if model else ("minilm", "bge", "none")):
        raise UnknownNameError("embedder", name, _KNOWN)


def check_token_encoder_name(name: str) -> None:
    """Refuse a name that `load_token_encoder` does not know, without importing anything.

    Raises:
        UnknownNameError: no token encoder has this name.
    """
    if name not in _TOKEN_ENCODERS:
        raise UnknownNameError("token encoder", name, _TOKEN_ENCODERS)


def kept_name(stored: str) -> str:
    """The name of the bundled embedder that made vectors of the name `stored`; "" for others."""
    from .bundled.sentence_embedder import BgeSmall, MiniLM

    return {MiniLM.name: "minilm", BgeSmall.name: "bge"}.get(stored, "")


def load(name: str, settings: Settings) -> Embedder | None:
    """Make the embedder that a name stands for; None for "none". Its model loads when first used.

    Args:
        name: `minilm` and `bge` (bundled), `openai:<model>` (any OpenAI-compatible endpoint),
            `fastembed:<model>` (extra), or `none`.
        settings: where the endpoint, its key, the model folder and the number of threads are taken
            from.

    Raises:
        UnknownNameError: no embedder has this name.
        MissingExtraError: the extra it needs is not installed.
    """
    from .queries import CachedQueries

    check_name(name)
    provider, _, model = name.partition(":")
    match provider:
        case "minilm":
            from .bundled.sentence_embedder import MiniLM

            return CachedQueries(
                _shared(MiniLM, os.getpid(), settings.threads, str(settings.model_dir))
            )
        case "bge":
            from .bundled.sentence_embedder import BgeSmall

            return CachedQueries(_shared(BgeSmall, os.getpid(), settings.threads))
        case "openai":
            from .openai import OpenAIEmbedder

            base_url = settings.embedder_base_url or settings.llm_base_url
            key = settings.embedder_api_key or settings.llm_api_key
            return CachedQueries(OpenAIEmbedder(model, base_url=base_url, api_key=key))
        case "fastembed":
            from .fastembed import FastEmbedder

            return CachedQueries(FastEmbedder(model, threads=settings.threads))
    return None


@cache
def _shared(
    kind: type[SentenceEmbedder], process: int, threads: int, model_dir: str = ""
) -> SentenceEmbedder:
    """A bundled embedder, whose model is loaded once for all memories of a process.

    One that was forked from it has its own: threads do not come along.
    """
    return kind(model_dir, threads=threads)
