"""The OpenAI-compatible embedder against a real endpoint on this machine."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from remloom import embed
from remloom.embed.openai import OpenAIEmbedder
from remloom.errors import EmbedderError
from remloom.settings import Settings

KEY = "sk-secret-0123456789"


class Endpoint:
    """An endpoint that embeds texts as their lengths; `failures` are statuses it answers with
    first."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.failures: list[int] = []
        self.dims = 3
        self.answer: Any = None
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append({"path": self.path, **body})
                endpoint.keys.append(self.headers.get("Authorization"))
                if endpoint.failures:
                    self.reply(endpoint.failures.pop(0), {"error": f"no, not with {KEY}"})
                    return
                rows = [
                    {"index": index, "embedding": [float(len(text)), *[1.0] * (endpoint.dims - 1)]}
                    for index, text in enumerate(body["input"])
                ]
                self.reply(200, endpoint.answer or {"data": rows[::-1], "model": body["model"]})

            def reply(self, status: int, value: Any) -> None:
                data = value.encode() if isinstance(value, str) else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    served = Endpoint()
    thread = threading.Thread(target=served.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield served
    served.server.shutdown()
    served.server.server_close()
    thread.join()


def make(endpoint: Endpoint, model: str = "some-model") -> OpenAIEmbedder:
    return OpenAIEmbedder(model, base_url=endpoint.url, api_key=KEY, wait=0.001)


def test_rows_come_in_the_order_of_the_texts_and_have_unit_length(endpoint: Endpoint):
    rows = make(endpoint).embed_documents(["a", "bbb"])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert rows[0][0] < rows[1][0]
    assert rows.dtype == np.float32
    assert endpoint.requests[0]["path"] == "/v1/embeddings"
    assert endpoint.keys == [f"Bearer {KEY}"]


def test_many_texts_go_in_several_requests(endpoint: Endpoint):
    rows = make(endpoint).embed_documents([f"text {number}" for number in range(130)])
    assert rows.shape == (130, 3)
    assert [len(request["input"]) for request in endpoint.requests] == [64, 64, 2]


def test_dims_are_asked_of_an_unknown_model_and_known_of_others(endpoint: Endpoint):
    assert make(endpoint).dims == 3
    assert len(endpoint.requests) == 1
    assert make(endpoint, "text-embedding-3-small").dims == 1536
    assert len(endpoint.requests) == 1


def test_prefixes_are_sent_and_recorded(endpoint: Endpoint):
    embedder = make(endpoint, "nomic-embed-text")
    embedder.embed_documents(["harbour"])
    embedder.embed_query("berth")
    assert [request["input"] for request in endpoint.requests] == [
        ["search_document: harbour"],
        ["search_query: berth"],
    ]
    assert embedder.name == "nomic-embed-text+prefixes"


def test_a_busy_endpoint_is_asked_again(endpoint: Endpoint):
    endpoint.failures = [429, 503]
    assert make(endpoint).embed_query("x").shape == (3,)
    assert len(endpoint.requests) == 3


def test_an_endpoint_that_stays_broken_is_an_error_without_the_key(endpoint: Endpoint):
    endpoint.failures = [500] * 10
    with pytest.raises(EmbedderError, match="answered 500") as error:
        make(endpoint).embed_query("x")
    assert KEY not in str(error.value)
    assert len(endpoint.requests) == 4


def test_a_wrong_key_is_said_at_once(endpoint: Endpoint):
    endpoint.failures = [401]
    with pytest.raises(EmbedderError, match="does not accept the API key") as error:
        make(endpoint).embed_query("x")
    assert "REMLOOM_EMBEDDER_API_KEY" in error.value.remedy
    assert KEY not in repr(error.value.as_dict())
    assert len(endpoint.requests) == 1


def test_an_unknown_model_is_said_at_once(endpoint: Endpoint):
    endpoint.failures = [404]
    with pytest.raises(EmbedderError, match="knows no such model"):
        make(endpoint).embed_query("x")


@pytest.mark.parametrize(
    "answer",
    [
        "<html>",
        {"choices": []},
        {"data": [{"index": 0}]},
        {"data": [{"embedding": "x"}]},
        {"data": []},
        [1],
    ],
    ids=["html", "chat answer", "no vector", "text for a vector", "too few", "a list"],
)
def test_an_answer_of_the_wrong_shape_is_an_error(endpoint: Endpoint, answer: Any):
    endpoint.answer = answer
    with pytest.raises(EmbedderError, match="answer"):
        make(endpoint).embed_query("x")


def test_nan_and_zero_vectors_are_refused(endpoint: Endpoint):
    for vector in ([0.0, 0.0, 0.0], [float("nan"), 1.0, 1.0]):
        endpoint.answer = {"data": [{"embedding": vector}]}
        with pytest.raises(EmbedderError, match="zeros, NaN or infinity"):
            make(endpoint).embed_query("x")


def test_a_model_that_changes_its_dimensions_is_refused(endpoint: Endpoint):
    embedder = make(endpoint)
    embedder.embed_query("x")
    endpoint.dims = 5
    with pytest.raises(EmbedderError, match="5 dimensions, not 3"):
        embedder.embed_query("y")


def test_an_endpoint_that_is_down_says_so():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    embedder = OpenAIEmbedder("m", base_url=f"http://127.0.0.1:{port}/v1", wait=0.001)
    with pytest.raises(EmbedderError, match="cannot be reached") as error:
        embedder.embed_query("x")
    assert "REMLOOM_EMBEDDER_BASE_URL" in error.value.remedy


def test_the_key_is_in_no_representation(endpoint: Endpoint):
    assert KEY not in repr(make(endpoint))


def test_settings_choose_endpoint_and_key_with_those_of_the_llm_as_fallback(endpoint: Endpoint):
    embedder = embed.load("openai:m", Settings(llm_base_url=endpoint.url, llm_api_key="k2"))
    assert embedder is not None
    embedder.embed_query("x")
    assert endpoint.keys == ["Bearer k2"]


def test_windows_cover_a_long_text(endpoint: Endpoint):
    text = "A sentence of some words. " * 300
    spans = make(endpoint).windows(text)
    assert len(spans) > 1
    assert "".join(text[start:end] for start, end in spans) == text
