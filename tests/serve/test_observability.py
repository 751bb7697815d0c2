"""What a server tells of itself: metrics, a line of log a request, spans; never what is in them."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.testclient import TestClient

from remloom import Home
from remloom.serve.http.app import create_app
from remloom.serve.service import Service
from remloom.settings import Settings
from remloom.tenancy.api_keys import SCOPES

SECRET = "zanzibar"
TENANT = "acme-industries"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    Home(tmp_path).create(TENANT)
    made = Service(Settings.load(home=str(tmp_path), embedder="none"))
    yield made
    made.close()


@pytest.fixture
def client(service: Service) -> Iterator[TestClient]:
    key = service.keys.create("test", SCOPES, tenant=TENANT).key
    app = create_app(service.settings, service=service)
    with TestClient(
        app, base_url="http://127.0.0.1", headers={"authorization": f"Bearer {key}"}
    ) as it:
        yield it


def test_metrics_count_operations_and_requests_and_name_nobody(client: TestClient) -> None:
    client.post("/v1/entities", json={"entity": {"schema": "entities", "name": SECRET}})
    client.post("/v1/lookup", json={"labels": [SECRET]})
    client.post("/v1/lookup", json={"labels": []})
    client.get(f"/nothing/{SECRET}")
    text = client.get("/metrics").text
    assert 'remloom_operation_seconds_count{operation="lookup",outcome="done"} 1.0' in text
    assert 'remloom_requests_total{route="lookup",status="200"} 1.0' in text
    assert 'remloom_requests_total{route="(none)",status="404"} 1.0' in text
    assert "remloom_open_tenants 1.0" in text
    assert "remloom_embedding_queue" in text
    assert SECRET not in text
    assert TENANT not in text


def test_metrics_need_their_scope(service: Service, client: TestClient) -> None:
    key = service.keys.create("reader", ["read"], tenant=TENANT).key
    refused = client.get("/metrics", headers={"authorization": f"Bearer {key}"})
    assert refused.status_code == 403
    assert "keys create NAME --scopes metrics" in refused.json()["remedy"]
    assert client.get("/metrics", headers={"authorization": ""}).status_code == 401


def test_each_request_is_one_line_of_json_without_content(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "remloom.requests"):
        client.post("/v1/lookup", json={"labels": [SECRET]}, headers={"x-request-id": "r-1"})
        client.get("/v1/stats", headers={"authorization": "Bearer wrong"})
    told: list[dict[str, Any]] = [json.loads(one.message) for one in caplog.records]
    assert [line["status"] for line in told] == [200, 401]
    assert told[0]["operation"] == "lookup"
    assert told[0]["request_id"] == "r-1"
    assert told[0]["tenant"] == TENANT
    assert told[1]["key_id"] == ""
    assert SECRET not in caplog.text
    assert "wrong" not in caplog.text


def test_a_call_is_a_span_of_the_conventions(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    client.post("/v1/lookup", json={"labels": [SECRET]})
    (span,) = exporter.get_finished_spans()
    assert span.name == "search_memory"
    assert (span.attributes or {})["gen_ai.memory.store.id"] == TENANT
    assert SECRET not in span.to_json()


BOARD = Path(__file__).parent.parent.parent / "docs" / "grafana.json"


def test_the_board_of_grafana_shows_what_is_measured(client: TestClient) -> None:
    client.get("/v1/stats")
    client.post("/v1/jobs", json={"kind": "sweep", "not_before": "2100-01-01T00:00:00Z"})
    text = client.get("/metrics").text
    measured = {line.split("{")[0].split(" ")[0] for line in text.splitlines() if line[0] != "#"}
    board = json.loads(BOARD.read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    shown = {name for query in asked for name in re.findall(r"remloom_\w+", query)}
    assert shown <= measured
    # a counter comes with the time it was made, and a histogram with its sum
    assert {name for name in measured - shown if not name.endswith(("_created", "_sum"))} == set()
    for query in asked:
        for labels in re.findall(r"by \(([^)]*)\)", query):
            for label in labels.split(", "):
                assert f'{label}="' in text
    places = [tuple(panel["gridPos"].values()) for panel in board["panels"]]
    assert len({panel["id"] for panel in board["panels"]}) == len(set(places)) == len(places)
