"""Conditional requests: a record's ETag, what is known already, and what was changed meanwhile."""

import pytest
from test_rest import problem

from serving import served


@pytest.fixture
def client(tmp_path):
    with served(tmp_path, tenants=("acme", "other")) as client:
        yield client


@pytest.fixture
def ann(client):
    person = {"schema": "entities", "name": "Ann", "type": "person"}
    return client.post("/v1/entities", json={"entity": person}).json()


def tag_of(client, path):
    return client.get(path).headers["etag"]


def test_a_record_that_is_known_is_not_sent_again(client, ann):
    path = f"/v1/entities/{ann}"
    first = client.get(path)
    tag = first.headers["etag"]
    assert tag.startswith(f'"{first.json()["revision"]}-')
    for known in (tag, f"W/{tag}", f'"x", , W/{tag}', "*", f' {tag} ,"a,b"'):
        for send in (client.get, client.head):
            again = send(path, headers={"If-None-Match": known})
            assert (again.status_code, again.content) == (304, b""), known
            assert again.headers["etag"] == tag
    changed = client.patch(path, json={"properties": {"city": "Riga"}})
    assert changed.headers["etag"] == tag_of(client, path) != tag
    fresh = client.get(path, headers={"If-None-Match": f'{tag}, "W/1"'})
    assert fresh.json()["properties"] == {"city": "Riga"}
    # the same record at its other path, and what has no revision
    assert tag_of(client, f"/v1/records/{ann}") == fresh.headers["etag"]
    assert "etag" not in client.get("/v1/edges", params={"label_or_id": "Ann"}).headers


def test_every_kind_of_record_has_a_tag_as_it_is_now(client):
    moment = {"schema": "moments", "name": "Tea", "starts_at": "2026-01-01T00:00:00Z"}
    made = client.post("/v1/moments", json={"moment": moment}).json()
    text = client.post("/v1/texts", json={"text": "Rain.", "uri": "note"}).json()["ids"][0]
    for path in (f"/v1/moments/{made}", f"/v1/resources/{text}", f"/v1/records/{text}"):
        assert client.get(path, headers={"If-None-Match": tag_of(client, path)}).status_code == 304
        assert client.get(path, headers={"If-Match": '"1"'}).status_code == 412
    # what it was is something else than what it is
    past = {"as_of": "2099-01-01T00:00:00Z"}
    assert "etag" not in client.get(f"/v1/resources/{text}", params=past).headers


def test_a_zipped_answer_has_a_tag_of_its_own_which_serves_as_well(client):
    long = {"schema": "entities", "name": "Bo", "type": "person", "summary": "tall " * 900}
    path = f"/v1/entities/{client.post('/v1/entities', json={'entity': long}).json()}"
    plain = client.get(path, headers={"Accept-Encoding": "identity"}).headers
    zipped = client.get(path, headers={"Accept-Encoding": "gzip"}).headers
    assert zipped["content-encoding"] == "gzip"
    assert "content-encoding" not in plain
    assert plain["etag"] != zipped["etag"]
    for tag in (plain["etag"], zipped["etag"]):
        assert client.get(path, headers={"If-None-Match": tag}).status_code == 304
    done = client.patch(path, json={"properties": {"a": 1}}, headers={"If-Match": zipped["etag"]})
    assert done.status_code == 200


def test_a_write_is_done_only_to_what_was_read(client, ann):
    path = f"/v1/entities/{ann}"
    tag = tag_of(client, path)

    def change(condition, **sent):
        json = {"properties": {"city": "Riga"}, **sent}
        return client.patch(path, json=json, headers=condition)

    for late in ('"1"', f"W/{tag}", '"1", "2"'):
        refused = problem(change({"If-Match": late}), 412)
        assert refused["error"] == "ChangedError"
        assert "ETag" in refused["remedy"]
    for unwanted in (tag, "*", f"W/{tag}"):
        problem(change({"If-None-Match": unwanted}), 412)
    assert tag_of(client, path) == tag
    done = change({"If-Match": f'"1", {tag}'})
    assert done.json()["properties"] == {"city": "Riga"}
    problem(change({"If-Match": tag}), 412)
    assert change({"If-Match": "*"}).status_code == 200
    # in the body it is as it was: a conflict
    late = client.get(path).json()["revision"]
    assert change({}, properties={"city": "Oslo"}, expected=late).status_code == 200
    assert problem(change({}, expected=late), 409)["error"] == "ChangedError"
    problem(change({"If-Match": "*"}, expected=late), 412)
    missing = client.patch("/v1/entities/nobody", json={}, headers={"If-Match": tag})
    problem(missing, 404)


def test_a_text_is_deleted_only_as_it_was_read(client):
    id = client.post("/v1/texts", json={"text": "Rain.", "uri": "note"}).json()["ids"][0]
    path = f"/v1/resources/{id}"
    tag = tag_of(client, path)
    problem(client.delete(path, headers={"If-Match": '"1"'}), 412)
    problem(client.delete(path, params={"expected": 1}), 409)
    assert client.get(path).status_code == 200
    assert client.delete(path, headers={"If-Match": tag}).json()["verified"]
    problem(client.delete(path, headers={"If-Match": tag}), 404)


@pytest.mark.parametrize("value", ["", "17", '"1', '"1" "2"', '*, "1"', 'w/"1"', '"a\tb"', ","])
@pytest.mark.parametrize("name", ["If-Match", "If-None-Match"])
def test_what_is_no_list_of_tags_is_refused(client, ann, name, value):
    for send in (client.get, client.delete):
        path = f"/v1/entities/{ann}" if send == client.get else f"/v1/resources/{ann}"
        assert name in problem(send(path, headers={name: value}), 400)["detail"]


def test_a_condition_of_what_has_no_tag_is_not_passed_over(client, ann):
    records = {"records": [{"schema": "entities", "name": "Bo", "type": "person"}]}
    refused = client.post("/v1/write", json=records, headers={"If-Match": '"1"'})
    assert "expected" in problem(refused, 412)["remedy"]
    assert client.post("/v1/lookup", json={"labels": ["Bo"]}).json()["records"] == []
    # what only reads is answered
    asked = client.post("/v1/lookup", json={"labels": ["Ann"]}, headers={"If-None-Match": "*"})
    assert asked.status_code == 200


def test_a_tag_tells_nothing_to_who_may_not_read(client, ann):
    path = f"/v1/entities/{ann}"
    known = {"If-None-Match": tag_of(client, path)}
    for condition in (known, {"If-Match": '"1"'}, {"If-Match": "no list"}):
        other = client.get(path, headers={**condition, "X-Test-Tenant": "other"})
        if condition != {"If-Match": "no list"}:
            problem(other, 404)
        assert "etag" not in other.headers
        for scopes in ("write", "forget"):
            refused = client.get(path, headers={**condition, "X-Test-Scopes": scopes})
            problem(refused, 403)
            assert "etag" not in refused.headers
    # of what another may have been told
    denied = client.patch(path, json={}, headers={"If-Match": '"1"', "X-Test-Scopes": "read"})
    assert denied.status_code == 403
    late = client.patch(path, json={}, headers={"If-Match": '"1"'})
    assert known["If-None-Match"].strip('"') not in late.text


def test_a_conditional_write_that_is_sent_twice_is_done_once(client, ann):
    path = f"/v1/entities/{ann}"
    headers = {"If-Match": tag_of(client, path), "Idempotency-Key": "once"}
    sent = {"properties": {"city": "Riga"}}
    assert client.patch(path, json=sent, headers=headers).status_code == 200
    again = client.patch(path, json=sent, headers=headers)
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json()["properties"] == {"city": "Riga"}
    other = client.patch(path, json=sent, headers={**headers, "If-Match": "*"})
    problem(other, 422)
