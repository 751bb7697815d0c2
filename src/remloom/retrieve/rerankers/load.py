"""Rerankers by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import UnknownNameError
from .base import Reranker

if TYPE_CHECKING:
    from ...llm import LLM
    from ...settings import Settings

_KNOWN = ("local", "onnx:<folder>", "fastembed:<model>", "llm")


def load_reranker(name: str, settings: Settings, llm: Callable[[], LLM]) -> Reranker:
    """Open the reranker that a name stands for; its model is loaded when first used.

    Args:
        name: `local` (a cross-encoder that is bundled), `onnx:<folder>` (one's `model.onnx` and
            `tokenizer.json`), `fastembed:<model>` (extra), or `llm` (the language model that is
            configured).
        settings: how many threads a model may use.
        llm: gives the caller of the language model.

    Raises:
        UnknownNameError: no reranker has this name.
        MissingExtraError: the extra it needs is not installed.
        RerankerError: its files are not there, or are others.
    """
    provider, _, model = name.partition(":")
    match provider:
        case "local" if not model:
            from .cross_encoder import CrossEncoder

            return CrossEncoder.of_package(threads=settings.threads)
        case "onnx" if model:
            from .cross_encoder import CrossEncoder

            return CrossEncoder(model, threads=settings.threads)
        case "fastembed" if model:
            from .cross_encoder import FastReranker

            return FastReranker(model, threads=settings.threads)
        case "llm" if not model:
            from .llm import ModelReranker

            return ModelReranker(llm())
    raise UnknownNameError("reranker", name, _KNOWN)
