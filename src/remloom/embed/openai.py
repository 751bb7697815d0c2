"""Embeddings from any OpenAI-compatible endpoint: OpenAI, Ollama, vLLM, llama.cpp and others (extra
`openai`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import EmbedderError, MissingExtraError
from ..text.tokens import approximate_token_ends
from .prefixes import identity, prefixes
from .vectors import unit_rows
from .windows import split

if TYPE_CHECKING:
    from .contract import Floats

__all__ = ["BASE_URL", "OpenAIEmbedder"]

BASE_URL = "https://api.openai.com/v1"
BATCH = 64  # texts in one request
TIMEOUT = 60.0  # seconds for one request
ATTEMPTS = 4  # of one request: at once, and after about 0.5, 1 and 2 seconds
_SILENT = logging.NullHandler()
_KNOWN_DIMS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}


class OpenAIEmbedder:
    """See `contract.Embedder`. Busy or failing endpoints (429, 5xx, timeouts) are asked again
    before giving up.

    Args:
        model: as the endpoint calls it.
        base_url: up to `/v1`; OpenAI's when empty.
        api_key: sent as a bearer token; may be empty for local endpoints. It appears in no message.
        wait: seconds before the first repetition; doubled for each further one.
    """

    max_tokens = 512  # of a window: what nearly every model takes, and small enough to be found by

    def __init__(
        self, model: str, *, base_url: str = "", api_key: str = "", wait: float = 0.5
    ) -> None:
        self.name = identity(model)
        self._model = model
        self._url = f"{(base_url or BASE_URL).rstrip('/')}/embeddings"
        self._key = api_key
        self._wait = wait
        self._dims = _KNOWN_DIMS.get(model)
        self._lock = threading.Lock()
        self._client: Any = None
        self._document_prefix, self._query_prefix = prefixes(model)
        try:
            import httpx  # noqa: F401 - told now rather than when the first text is embedded
            import stamina  # noqa: F401
        except ImportError as error:
            raise MissingExtraError(f"the embedder openai:{model}", "openai") from error

    def __repr__(self) -> str:
        return (
            f"OpenAIEmbedder({self._model!r}, base_url={self._url.removesuffix('/embeddings')!r})"
        )

    @property
    def dims(self) -> int:
        if self._dims is None:
            self._dims = self._embed(["dimensions"]).shape[1]
        return self._dims

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        import numpy as np

        if not len(texts):
            return np.zeros((0, self.dims), dtype=np.float32)
        prefixed = [self._document_prefix + text for text in texts]
        return np.concatenate(
            [self._embed(prefixed[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
        )

    def embed_query(self, text: str) -> Floats:
        vector: Floats = self._embed([self._query_prefix + text])[0]
        return vector

    def windows(self, text: str) -> list[tuple[int, int]]:
        return split(text, approximate_token_ends(text), self.max_tokens)

    def _embed(self, texts: Sequence[str]) -> Floats:
        answer = self._post(
            {"model": self._model, "input": list(texts), "encoding_format": "float"}
        )
        try:
            # In the order of `index` where it is told; some endpoints leave it out and keep the
            # order.
            data = sorted(enumerate(answer["data"]), key=lambda item: item[1].get("index", item[0]))
            values = [item["embedding"] for _, item in data]
        except (KeyError, TypeError, AttributeError) as error:
            raise self._error(
                "did not answer with embeddings",
                "check that the base URL ends in /v1 and the model embeds",
            ) from error
        rows = unit_rows(values, count=len(texts), dims=self._dims, model=self._model)
        self._dims = rows.shape[1]
        return rows

    def _post(self, body: dict[str, Any]) -> Any:
        import httpx
        import stamina

        def again(error: Exception) -> bool:
            if isinstance(error, httpx.HTTPStatusError):
                return (
                    error.response.status_code in (408, 409, 429)
                    or error.response.status_code >= 500
                )
            return isinstance(error, httpx.TransportError)

        def ask() -> Any:
            response = self._connection().post(self._url, json=body)
            response.raise_for_status()
            return response.json()

        # else every wait is a line on the terminal
        logging.getLogger("stamina").addHandler(_SILENT)
        retrying: Callable[[Callable[[], Any]], Callable[[], Any]] = stamina.retry(
            on=again,
            attempts=ATTEMPTS,
            wait_initial=self._wait,
            wait_max=8.0,
            wait_jitter=self._wait / 2,
        )
        try:
            return retrying(ask)()
        except httpx.HTTPStatusError as error:
            raise self._refused(error.response) from None
        except httpx.TimeoutException:
            raise self._error(
                f"did not answer within {TIMEOUT:.0f} seconds", "is it overloaded?"
            ) from None
        except httpx.TransportError as error:
            raise self._error(
                f"cannot be reached ({type(error).__name__})",
                "is it running, and is REMLOOM_EMBEDDER_BASE_URL right?",
            ) from None
        except ValueError:
            raise self._error(
                "did not answer with JSON", "check that the base URL ends in /v1"
            ) from None

    def _refused(self, response: Any) -> EmbedderError:
        status = response.status_code
        if status in (401, 403):
            return self._error(
                f"does not accept the API key ({status})",
                "set REMLOOM_EMBEDDER_API_KEY",
                status=status,
            )
        if status == 404:
            return self._error(
                f"knows no such model or path ({status})", "check the model's name and that the base URL ends in /v1",
                status=status,
            )  # fmt: skip
        said = " ".join(response.text.split())[:200]
        if self._key:
            said = said.replace(self._key, "***")
        return self._error(
            f"answered {status}: {said}" if said else f"answered {status}", "", status=status
        )

    def _error(self, what: str, remedy: str, **fields: Any) -> EmbedderError:
        place = self._url.removesuffix("/embeddings")
        return EmbedderError(
            f"{place} (model {self._model}) {what}",
            remedy=remedy,
            model=self._model,
            url=place,
            **fields,
        )

    def _connection(self) -> Any:
        import httpx

        with self._lock:
            if self._client is None:
                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                self._client = httpx.Client(timeout=TIMEOUT, headers=headers)
            return self._client
