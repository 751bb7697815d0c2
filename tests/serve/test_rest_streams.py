"""REST: streams, jobs, uploads, writes that are sent twice, and the description of it all."""

import json
import re
import tarfile
from io import BytesIO

import msgspec
import pytest

from serving import served
from waiting import until


@pytest.fixture
def client(tmp_path):
    with served(tmp_path) as client:
        yield client


def events(response):
    assert response.headers["content-type"].startswith("text/event-stream")
    found = []
    for block in response.text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
        found.append((lines["event"], json.loads(lines["data"])))
    return found


EVENTS = {"Accept": "text/event-stream"}


def test_a_long_operation_tells_its_progress_and_then_its_result(client):
    files = [("file", (f"{i}.txt", b"It rained.")) for i in range(3)]
    told = events(client.post("/v1/documents", files=files, headers=EVENTS))
    assert told[-1][0] == "result"
    assert told[-1][1]["resources"] == 3
    assert {kind for kind, _ in told[:-1]} <= {"progress"}


def test_an_error_of_a_stream_is_its_last_event(client):
    told = events(client.post("/v1/ask", json={"question": "Who?"}, headers=EVENTS))
    assert [kind for kind, _ in told] == ["error"]
    assert told[0][1]["error"] == "ModelNotConfiguredError"


def test_what_takes_long_is_done_as_a_job_and_can_be_followed(client):
    client.post("/v1/texts", json={"text": "Sarah Chen manages Bob.", "uri": "team"})
    response = client.post("/v1/dreams/affinity", json={}, headers={"Prefer": "respond-async"})
    assert response.status_code == 202
    place = response.headers["location"]
    assert place == f"/v1/jobs/{response.json()['id']}"
    told = events(client.get(f"{place}/events"))
    assert told[-1][0] == "result"
    assert told[0][0] == "job"
    assert client.get(place).json()["state"] == "done"
    assert client.get("/v1/jobs/none/events").status_code == 404


def test_a_job_that_was_added_is_worked_by_the_server(client):
    id = client.post("/v1/jobs", json={"kind": "moments", "payload": {"model": False}}).json()["id"]
    until(lambda: client.get(f"/v1/jobs/{id}").json()["state"] == "done")


def test_files_are_sent_as_a_form_or_as_the_body(client):
    form = [("file", ("notes/a.md", b"# Rain\n\nIt rained.")), ("file", ("b.txt", b"Sun."))]
    report = client.post("/v1/documents?category=diary", files=form).json()
    assert [item["uri"] for item in report["items"]] == ["notes/a.md", "b.txt"]
    body = client.post(
        "/v1/documents",
        content=b"Snow.",
        headers={"Content-Type": "text/plain", "X-File-Name": "b.txt"},
    )
    assert body.json()["resources"] == 1
    assert (
        client.post(
            "/v1/documents", content=b"x", headers={"Content-Type": "text/plain"}
        ).status_code
        == 422
    )
    assert client.post("/v1/documents", files=[("other", ("a", b"x"))]).status_code == 422


def test_an_export_is_streamed_and_taken_in_by_another_tenant(tmp_path):
    with served(tmp_path, tenants=("acme", "other")) as client:
        client.post("/v1/texts", json={"text": "Sarah Chen manages Bob.", "uri": "team"})
        export = client.get("/v1/export")
        assert export.headers["content-type"] == "application/x-ndjson"
        other = {"X-Test-Tenant": "other"}
        cut = client.post("/v1/import", content=export.content[:-20], headers=other)
        assert cut.status_code == 422
        assert client.post("/v1/import", content=export.content, headers=other).status_code == 200
        found = client.post("/v1/lookup", json={"labels": ["Sarah Chen"]}, headers=other)
        assert found.json()["records"]


def test_a_backup_is_a_tar_archive(client):
    with tarfile.open(fileobj=BytesIO(client.get("/v1/backup").content)) as archive:
        assert any(name.endswith("memory.db") for name in archive.getnames())


def moment():
    return {"name": "Rain", "type": "event", "starts_at": "2026-01-01T00:00:00Z"}


def test_a_write_that_is_sent_twice_under_a_key_is_done_once(client):
    sent = {"json": {"moment": moment()}, "headers": {"Idempotency-Key": "k1"}}
    first = client.post("/v1/moments", **sent)
    again = client.post("/v1/moments", **sent)
    assert first.json() == again.json()
    assert again.headers["idempotent-replayed"] == "true"
    found = client.get("/v1/moments/types/event").json()
    assert len(found) == 1
    other = client.post(
        "/v1/moments",
        json={"moment": moment() | {"name": "Snow"}},
        headers={"Idempotency-Key": "k1"},
    )
    assert other.status_code == 422
    assert "another request" in other.json()["detail"]


def test_what_failed_may_be_tried_again_under_its_key(client):
    headers = {"Idempotency-Key": "k2"}
    assert client.delete("/v1/resources/none", headers=headers).status_code == 404
    assert client.delete("/v1/resources/none", headers=headers).status_code == 404
    assert (
        client.post(
            "/v1/forget", json={"targets": ["x"]}, headers={"Idempotency-Key": "x" * 300}
        ).status_code
        == 422
    )


def test_a_write_that_a_killed_process_began_is_done_again_without_doubling(client, monkeypatch):
    from remloom.serve import idempotency

    sent = {"json": {"moment": moment()}, "headers": {"Idempotency-Key": "k3"}}
    done = client.post("/v1/moments", **sent).json()
    service = client.app.state.service
    with service.tenants.opened("acme") as memory:
        kv = memory.admin.store.kv
        (entry,) = kv.list(idempotency.NAMESPACE)
        kept = msgspec.json.decode(entry.value, type=idempotency.Kept)
        process = f"{kept.process.partition('#')[0]}#999999999-x"
        begun = msgspec.structs.replace(kept, done=False, body=b"", process=process)
        kv.put([idempotency.Entry(idempotency.NAMESPACE, entry.key, msgspec.json.encode(begun))])
    again = client.post("/v1/moments", **sent)
    assert again.json() == done
    assert len(client.get("/v1/moments/types/event").json()) == 1


def test_a_write_that_another_container_began_is_not_done_beside_it(client):
    from remloom.serve import idempotency

    sent = {"json": {"moment": moment()}, "headers": {"Idempotency-Key": "k4"}}
    client.post("/v1/moments", **sent)
    with client.app.state.service.tenants.opened("acme") as memory:
        kv = memory.admin.store.kv
        (entry,) = kv.list(idempotency.NAMESPACE)
        kept = msgspec.json.decode(entry.value, type=idempotency.Kept)
        number = kept.process.partition("#")[2]
        begun = msgspec.structs.replace(kept, done=False, process=f"other/pid:[1]#{number}")
        kv.put([idempotency.Entry(idempotency.NAMESPACE, entry.key, msgspec.json.encode(begun))])
        assert client.post("/v1/moments", **sent).status_code == 409
        # as long as it could still be at work
        silent = msgspec.structs.replace(begun, at=begun.at - idempotency.STALE)
        kv.put([idempotency.Entry(idempotency.NAMESPACE, entry.key, msgspec.json.encode(silent))])
    assert client.post("/v1/moments", **sent).status_code == 200
    assert len(client.get("/v1/moments/types/event").json()) == 1


def test_a_reply_goes_with_what_is_forgotten_and_its_write_is_not_done_again(client):
    def send(path, key, **body):
        return client.post(path, json=body, headers={"Idempotency-Key": key})

    def remember():
        return send("/v1/tools/remember", "kept-1", text="Walter Wombatson lives in Quito.")

    def call():
        value = {"slot": "identity.name", "value": "Zebedee"}
        return send("/v1/profile/set", "kept-2", **value)

    def note():
        return send("/v1/moments", "kept-3", moment=moment())

    (id,) = remember().json()["ids"]
    assert call().json()["value"] == "Zebedee"
    noted = note().json()
    assert call().headers["idempotent-replayed"] == "true"
    assert client.post("/v1/profile/forget", json={"slot": "identity.name"}).status_code == 200
    for again in (call(), remember()):
        assert again.status_code == 410
        assert "Zebedee" not in again.text
        assert "Wombatson" not in again.text
    # one of ids alone stays until its record goes
    assert note().json() == noted
    assert client.post("/v1/forget", json={"targets": [id, noted]}).status_code == 200
    assert note().status_code == 410
    for gone in (id, noted):
        assert client.get(f"/v1/records/{gone}").status_code == 404
    with client.app.state.service.tenants.opened("acme") as memory:
        kv = memory.admin.store.kv
        left = [e.value for name in ("replies", "reply_bodies") for e in kv.list(name)]
    assert not any(word in value for value in left for word in (b"Zebedee", b"Wombatson"))


def test_a_key_holds_for_jobs_and_streams_too(client):
    key = {"Idempotency-Key": "jobs-1"}
    added = [
        client.post("/v1/learn", json={}, headers={**key, "Prefer": "respond-async"})
        for _ in range(2)
    ]
    assert [one.status_code for one in added] == [202, 202]
    assert added[0].headers["location"] == added[1].headers["location"]
    assert added[1].headers["idempotent-replayed"] == "true"
    assert client.post("/v1/learn", json={}, headers=key).status_code == 422
    key = {"Idempotency-Key": "stream-1", "Accept": "text/event-stream"}
    sent = [client.post("/v1/sweep", json={}, headers=key) for _ in range(2)]
    results = [one.text.partition("event: result")[2] for one in sent]
    assert results[0]
    assert results[0] == results[1]


def test_everything_is_described(client):
    described = client.get("/openapi.json").json()
    recall = described["paths"]["/v1/recall"]["post"]
    assert recall["security"] == [{"key": ["read"]}]
    read = described["components"]["schemas"]["ReadTextTakes"]["properties"]
    assert "where it is from" in read["uri"]["description"]
    names = [one["operationId"] for path in described["paths"].values() for one in path.values()]
    assert len(names) == len(set(names))
    # every route that is served is described
    for route in client.app.routes:
        path = getattr(route, "path", "")
        if path.startswith("/v1/") and path not in ("/v1/session",):
            shapes = {re.sub(r"\{\w+\}", "{}", one) for one in described["paths"]}
            assert re.sub(r"\{\w+\}", "{}", path) in shapes, path


def test_tools_are_listed_as_functions_that_the_key_may_call(client):
    tools = {one["name"]: one for one in client.get("/v1/tools").json()}
    assert "recall" in tools
    assert tools["recall"]["parameters"]
    few = client.get("/v1/tools", headers={"X-Test-Scopes": "read"}).json()
    assert "remember" not in {one["name"] for one in few}
