"""The audit log: who asked what, which records, and how it ended; in the tenant's own store."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from guarded import bearer, guarded, make_key
from remloom import Entity, Home, Memory
from remloom.serve.cli.app import program
from remloom.tenancy.audit import AuditEntry, AuditLog
from serving import settings_of

WORDS = "quinces ripen in October"


@pytest.fixture
def client(tmp_path):
    with guarded(tmp_path) as client:
        client.headers.update(bearer(make_key(tmp_path)))
        yield client


def calls(client):
    client.app.state.service.tenants.write_audit()
    return client.get("/v1/audit").json()


def test_calls_are_listed_newest_first_with_their_records(client):
    (id,) = client.post(
        "/v1/write", json={"records": [{"schema": "entities", "name": "Ann", "type": "person"}]}
    ).json()["ids"]
    client.get(f"/v1/entities/{id}")
    client.get("/v1/entities/01234567-89ab-cdef-0123-456789abcdef")
    found = [(one["operation"], one["outcome"], one["records"]) for one in calls(client)]
    assert found == [
        ("get_entity", "NotFoundError", ["01234567-89ab-cdef-0123-456789abcdef"]),
        ("get_entity", "done", [id]),
        ("write", "done", [id]),
    ]
    (key,) = {one["key_id"] for one in calls(client)}
    assert re.fullmatch("[0-9a-f]{12}", key)


def test_a_write_under_a_key_names_its_records_too(client):
    sent = {"records": [{"schema": "entities", "name": "Ann", "type": "person"}]}
    for _ in range(2):
        (id,) = client.post("/v1/write", json=sent, headers={"Idempotency-Key": "once"}).json()[
            "ids"
        ]
    assert [one["records"] for one in calls(client)] == [[id], [id]]


def test_there_is_no_content_in_it(client):
    client.post("/v1/texts", json={"text": WORDS, "uri": "fruit.md"})
    client.post("/v1/recall", json={"question": WORDS})
    client.post("/v1/lookup", json={"labels": [WORDS]})
    client.post("/v1/query", json={"statement": f"no dialect: {WORDS}"})
    shown = json.dumps(calls(client))
    assert len(json.loads(shown)) == 4
    for word in [*WORDS.split(), "fruit"]:
        assert word not in shown


def test_what_cannot_be_undone_is_there_before_it_is_answered(client, tmp_path):
    client.post("/v1/texts", json={"text": WORDS, "uri": "fruit.md"})
    receipt = client.post("/v1/forget", json={"targets": ["fruit.md"]}).json()
    assert receipt["verified"]
    # a second process sees it, and the server has not been asked to write anything
    with Memory.open(settings=settings_of(tmp_path), create=False) as memory:
        (forgotten, *_) = memory.admin.audit()
    assert forgotten.operation == "forget"
    assert set(forgotten.records) == set(receipt["ids"])
    assert "fruit" not in str(forgotten)


def test_forgetting_is_verified_although_the_log_names_the_ids(client):
    client.post("/v1/texts", json={"text": WORDS, "uri": "fruit.md"})
    client.post("/v1/recall", json={"question": WORDS})
    client.app.state.service.tenants.write_audit()
    receipt = client.post("/v1/forget", json={"targets": ["fruit.md"]}).json()
    assert receipt["verified"]
    assert receipt["remaining"] == []


def test_it_needs_the_scope_admin_and_is_of_one_tenant(client, tmp_path):
    client.get("/v1/stats")
    for scopes in (["read", "write", "forget", "dream"], ["metrics"]):
        key = make_key(tmp_path, *scopes)
        assert client.get("/v1/audit", headers=bearer(key)).status_code == 403
    other = make_key(tmp_path, tenant="other")
    assert client.get("/v1/audit", headers=bearer(other)).json() == []


def test_it_is_as_encrypted_as_the_memory(tmp_path):
    master = Home.new_key()
    with guarded(tmp_path, key=master) as client:
        # the keys are found by the settings of the server
        keys = client.app.state.service.keys
        made = keys.create("test", ["read"], tenant="acme")
        client.get("/v1/stats", headers=bearer(made.key))
    database = tmp_path / "tenants" / "acme" / "memory.db"
    assert made.id.encode() not in database.read_bytes()
    with Memory.open(settings=settings_of(tmp_path, key=master), create=False) as memory:
        assert memory.admin.audit()[0].key_id == made.id


def test_what_is_done_with_keys_is_listed_of_the_home(client, tmp_path):
    root = make_key(tmp_path, "admin", tenant="")
    client.post("/v1/keys", json={"name": "k", "scopes": ["read"]})
    client.post("/v1/tenants", json={"tenant": "third"}, headers=bearer(root))
    arguments = ["--home", str(tmp_path), "audit", "--all-tenants", "--json"]
    shown = json.loads(CliRunner().invoke(program, arguments).output)
    assert [one["operation"] for one in shown] == ["create_tenant", "create_key"]


def test_it_is_kept_for_so_many_days(tmp_path):
    now = datetime.now(UTC)
    with Memory.open(tmp_path, embedder="none") as memory:
        log = AuditLog(memory.admin.store.kv)
        for days in (400, 20, 0):
            at = now - timedelta(days=days)
            log.add([AuditEntry(at=at, key_id=str(days), operation="stats")])
        log.prune(0)
        assert len(log.calls(10)) == 3
        log.prune(365)
        assert [one.key_id for one in log.calls(10)] == ["0", "20"]
        assert [one.key_id for one in memory.admin.audit(before=now - timedelta(days=1))] == ["20"]
        assert [one.key_id for one in memory.admin.audit(1)] == ["0"]


def test_the_command_line_lists_it(client, tmp_path):
    with Memory.open(settings=settings_of(tmp_path)) as memory:
        memory.write([Entity(name="Ann")])
    client.get("/v1/stats")
    client.app.state.service.tenants.write_audit()
    shown = CliRunner().invoke(program, ["--home", str(tmp_path), "--tenant", "acme", "audit"])
    assert "stats" in shown.output
    assert "done" in shown.output


def test_a_job_that_is_followed_is_one_call_in_the_log(tmp_path, monkeypatch):
    from remloom.serve.http import events

    monkeypatch.setattr(events, "JOB_POLL", 0.01)
    with guarded(tmp_path) as client:
        key = make_key(tmp_path)
        later = {"kind": "moments", "payload": {"model": False}}
        id = client.post("/v1/jobs", json=later, headers=bearer(key)).json()["id"]
        told = client.get(f"/v1/jobs/{id}/events", headers=bearer(key)).text
        assert "event: result" in told
        client.app.state.service.tenants.write_audit()
        calls = client.get("/v1/audit", headers=bearer(key)).json()
        assert [one["operation"] for one in calls] == ["get_job", "add_job"]
