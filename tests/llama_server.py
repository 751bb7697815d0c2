"""llama.cpp's own OpenAI-compatible server on loopback, with a real and very small model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from remloom.llm.local import carried

__all__ = ["API_KEY", "llama_server"]

API_KEY = "sk-right"


@contextmanager
def llama_server() -> Iterator[str]:
    """The URL of the server, for as long as the context lasts. It takes the key `API_KEY`."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(carried("smollm2"))
    params.n_ctx, params.n_parallel, params.n_threads_http = 4_096, 1, 2
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [API_KEY]
    params.ui = params.warmup = False
    params.verbosity = -1
    # else it says one thing for ever
    params.sampling.penalty_repeat, params.sampling.penalty_last_n = 1.1, 256
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server
