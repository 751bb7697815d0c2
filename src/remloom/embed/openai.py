"""Embeddings from any OpenAI-compatible endpoint: OpenAI, Ollama, vLLM, … (extra `openai`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import EmbedderError, MissingExtraError
from ..text.sentences import approximate_windows
from .answers import unit_rows
from .model_card import identity, prefixes

if TYPE_CHECKING:
    from .contract import Floats


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
    """An embedder behind an endpoint, which is asked again when it is busy or fails.

    Args:
        base_url: up to `/v1`; OpenAI's when empty.
        api_key: sent as a bearer token; may be empty for local endpoints. It appears in no message.
        wait: seconds before the first repetition; doubled for each further one.
    """

    max_tokens = 512  # of a window: what nearly every model takes, and small enough to be found by

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "",
        api_key: str = "",
        wait: float = 0.5,
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
            # now, rather than when the first text is embedded
            import httpx  # noqa: F401
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
        starts = range(0, len(texts), BATCH)
        return np.concatenate([self._embed(prefixed[start : start + BATCH]) for start in starts])

    def embed_query(self, text: str) -> Floats:
        vector: Floats = self._embed([self._query_prefix + text])[0]
        return vector

    def windows(self, text: str) -> list[tuple[int, int]]:
        return approximate_windows(text, self.max_tokens)

    def _embed(self, texts: Sequence[str]) -> Floats:
        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        answer = self._post(body)
        try:
            # Some endpoints leave `index` out and keep the order; others say it and do not.
            data = list(enumerate(answer["data"]))
            data.sort(key=lambda item: item[1].get("index", item[0]))
            values = [item["embedding"] for _, item in data]
        except (KeyError, TypeError, AttributeError) as error:
            raise self._error(
                "did not answer with embeddings",
                "check that the base URL ends in /v1 and the model embeds",
            ) from error
        rows = unit_rows(values, count=len(texts), dims=self._dims, model=self)
        self._dims = rows.shape[1]
        return rows

    def _post(self, body: dict[str, Any]) -> Any:
        import httpx
        import stamina

        def is_temporary(error: Exception) -> bool:
            if isinstance(error, httpx.HTTPStatusError):
                status = error.response.status_code
                return status in (408, 409, 429) or status >= 500
            return isinstance(error, httpx.RequestError)

        def post() -> Any:
            response = self._connection().post(self._url, json=body)
            response.raise_for_status()
            return response.json()

        # else every wait is a line on the terminal
        logging.getLogger("stamina").addHandler(_SILENT)
        retrying: Callable[[Callable[[], Any]], Callable[[], Any]] = stamina.retry(
            on=is_temporary,
            attempts=ATTEMPTS,
            wait_initial=self._wait,
            wait_max=8.0,
            wait_jitter=self._wait / 2,
        )
        try:
            return retrying(post)()
        except httpx.HTTPStatusError as error:
            raise self._refused(error.response) from None
        except httpx.TimeoutException:
            problem = f"did not answer within {TIMEOUT:.0f} seconds"
            raise self._error(problem, "is it overloaded?") from None
        except httpx.RequestError as error:
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
                f"knows no such model or path ({status})",
                "check the model's name and that the base URL ends in /v1",
                status=status,
            )
        message = " ".join(response.text.split())[:200]
        # An endpoint may repeat the key that it refuses.
        if self._key:
            message = message.replace(self._key, "***")
        problem = f"answered {status}: {message}" if message else f"answered {status}"
        return self._error(problem, "", status=status)

    def _error(self, problem: str, remedy: str, **fields: Any) -> EmbedderError:
        url = self._url.removesuffix("/embeddings")
        return EmbedderError(
            f"{url} (model {self._model}) {problem}",
            remedy=remedy,
            model=self._model,
            url=url,
            **fields,
        )

    def _connection(self) -> Any:
        import httpx

        with self._lock:
            if self._client is None:
                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                self._client = httpx.Client(timeout=TIMEOUT, headers=headers)
            return self._client
