"""REST: what is asked of a memory over HTTP, and what is answered."""

import gzip
import json

import msgspec
import pytest

from remloom.operations import OPERATIONS, TOOLS
from remloom.serve.argument_types import remedy_for
from remloom.serve.problems import MEDIA_TYPE
from serving import served


@pytest.fixture
def client(tmp_path):
    with served(tmp_path) as client:
        yield client


def problem(response, status):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == MEDIA_TYPE
    shown = response.json()
    assert shown["status"] == status
    assert shown["request_id"] == response.headers["x-request-id"]
    assert "Traceback" not in response.text
    return shown


def test_what_is_written_is_found(client):
    person = {"schema": "entities", "name": "Sarah Chen", "type": "person"}
    edge = {"schema": "edges", "src": "Sarah Chen", "rel_type": "manages", "dst": "Bob"}
    ids = client.post("/v1/write", json={"records": [person, edge]}).json()["ids"]
    assert len(ids) == 1
    found = client.post("/v1/lookup", json={"labels": ["sarah chen"]}).json()
    assert found["records"][0]["record"]["name"] == "Sarah Chen"
    assert client.get(f"/v1/entities/{ids[0]}").json()["type"] == "person"
    assert client.get("/v1/edges", params={"label_or_id": "Sarah Chen"}).json()[0]["dst"] == "bob"


def test_a_text_is_answered_as_json_and_nothing_as_no_content(client):
    response = client.post("/v1/context", json={"question": "who?"})
    assert isinstance(response.json(), str)
    client.post("/v1/edges", json={"edge": {"src": "a", "rel_type": "b", "dst": "c"}})
    gone = client.delete("/v1/edges", params={"src": "a", "rel_type": "b", "dst": "c"})
    assert (gone.status_code, gone.content) == (204, b"")


@pytest.mark.parametrize("word", ["null", "Null"])
def test_null_is_no_value_of_a_query(client, word):
    assert "leave it out" in problem(client.get(f"/v1/runs?limit={word}"), 422)["remedy"]


def test_a_label_in_a_path_may_have_a_slash(client):
    client.post("/v1/texts", json={"text": "Rain.", "uri": "a/b"})
    chunk = client.post("/v1/sql", json={"text": "SELECT id FROM resources"}).json()
    id = chunk["rows"][0][0]
    assert client.get(f"/v1/records/{id}/history").status_code == 200
    assert problem(client.get("/v1/resources/a%2Fb"), 404)["fields"]["id"] == "a/b"


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b'{"labels": ["a"', 400, "not JSON"),
        (b"\xff\xfe", 400, "not JSON"),
        (b'{"labels": ["\\ud800"]}', 400, "not JSON"),
        (b"[]", 422, "expected `object`"),
        (b"{}", 422, "labels is missing"),
        (b'{"labels": []}', 422, "labels: expected `array` of length >= 1"),
        (b'{"labels": "a"}', 422, "labels: expected `array`, got `str`"),
        (b'{"labels": [1]}', 422, "labels[0]: expected `str`, got `int`"),
        (b'{"labels": ["a\\u0000"]}', 422, "labels[0]: expected `str` without NUL"),
        (b'{"labels": ["a"], "as_off": null}', 422, "unknown argument 'as_off'"),
        (b'{"labels": ["a"], "tenant": "b"}', 422, "unknown argument 'tenant'"),
    ],
)
def test_what_is_wrong_with_a_body_is_said(client, body, status, words):
    headers = {"Content-Type": "application/json"}
    shown = problem(client.post("/v1/lookup", content=body, headers=headers), status)
    assert words in shown["detail"]
    assert shown["remedy"]


@pytest.mark.parametrize(
    ("path", "sent", "remedy"),
    [
        ("lookup", {"labels": "a"}, 'labels is a list of strings: {"labels": ["…"]}'),
        ("lookup", {}, 'labels is a list of strings: {"labels": ["…"]}; known: labels, as_of'),
        ("lookup", [], 'give a JSON object: {"labels": ["…"]}'),
        ("lookup", {"labels": ["a"], "as_of": "noon"}, 'as_of is a time with its zone: {"as_of": "2025-05-01T09:30:00Z"}'),
        ("recall", {"question": 5}, 'question is a string: {"question": "…"}'),
        ("recall", {"question": "a", "limit": "ten"}, 'limit is an integer from 1 up to 1000: {"limit": 10}'),
        ("recall", {"question": "a", "half_life": 0}, 'half_life is a number above 0 up to 36500: {"half_life": 0.5}'),
        ("recall", {"question": "a", "preferences": {"b": "c"}}, 'preferences is an object: {"preferences": {"…": 0.5}}'),
        ("tools/recall", {"question": "a", "explain": "yes"}, 'explain is true or false: {"explain": true}'),
        ("tools/remember", {"messages": [{"speaker": "a"}]}, 'messages is a list of objects with text: {"messages": [{"text": "…"}]}'),
        ("tools/remember", {"text": "a", "about": "b"}, 'about is a list of strings: {"about": ["…"]}'),
    ],
)  # fmt: skip
def test_what_would_be_right_is_said_with_an_example(client, path, sent, remedy):
    assert problem(client.post(f"/v1/{path}", json=sent), 422)["remedy"] == remedy


def test_an_argument_in_a_query_is_shown_as_one(client):
    wrong = problem(client.get("/v1/complete", params={"prefix": "a", "limit": "many"}), 422)
    assert wrong["remedy"].endswith(": ?limit=10")
    wrong = problem(client.get("/v1/stats?x=1"), 422)
    assert wrong["remedy"] == "leave it out: nothing is taken here"


@pytest.mark.parametrize("operation", [*OPERATIONS, *TOOLS], ids=lambda operation: operation.name)
def test_an_example_of_what_is_expected_is_taken(operation):
    for field in msgspec.structs.fields(operation.takes):
        shown = remedy_for(operation.takes, field.encode_name).partition(": ")[2]
        msgspec.convert(json.loads(shown)[field.encode_name], field.type)


def test_a_path_is_one_whatever_its_parameter_is_called(client):
    allowed = client.options("/v1/profile/slots/diet").headers["allow"]
    assert allowed == "DELETE, GET, HEAD, OPTIONS"
    assert client.get("/v1/profile/slots/diet").status_code == 200
    assert client.delete("/v1/profile/slots/none").status_code in (404, 422)


def test_json_says_what_is_a_number(client):
    found = client.post("/v1/search/text", json={"text": "rain", "limit": 5.0})
    assert found.status_code == 200
    for wrong in ("5", 5.5, True):
        sent = {"text": "rain", "limit": wrong}
        assert (
            problem(client.post("/v1/search/text", json=sent), 422)["fields"]["argument"] == "limit"
        )
    assert problem(client.post("/v1/lookup", json={"labels": ["a"], "as_of": 0}), 422)


def test_the_nearest_argument_is_named(client):
    shown = problem(client.post("/v1/lookup", json={"label": ["a"]}), 422)
    assert shown["fields"]["nearest"] == ["labels"]


def test_arguments_of_a_query_are_bounded_and_given_once(client):
    assert client.get("/v1/complete", params={"prefix": "a", "limit": "5"}).json() == []
    wrong = problem(client.get("/v1/complete", params={"prefix": "a", "limit": "many"}), 422)
    assert wrong["fields"]["argument"] == "limit"
    assert "given twice" in problem(client.get("/v1/complete?prefix=a&prefix=b"), 422)["detail"]
    assert "stands in the query" in problem(client.post("/v1/lookup?labels=a"), 422)["detail"]


def test_a_form_is_no_json(client):
    assert "not JSON" in problem(client.post("/v1/lookup", data={"labels": "a"}), 415)["detail"]


def test_paths_and_methods_that_do_not_exist_are_told_apart(client):
    assert "/openapi.json" in problem(client.get("/v1/nothing"), 404)["remedy"]
    response = client.get("/v1/recall")
    problem(response, 405)
    assert response.headers["allow"] == "OPTIONS, POST"
    assert client.options("/v1/edges").headers["allow"] == "DELETE, GET, HEAD, OPTIONS, POST"
    assert client.head("/v1/stats").content == b""


def test_errors_of_the_memory_have_their_own_status(client):
    assert problem(client.get("/v1/resources/none"), 404)["error"] == "NotFoundError"
    caret = problem(client.post("/v1/query", json={"statement": "LOOK UP x"}), 422)
    assert caret["fields"]["position"] == 0
    assert problem(client.post("/v1/ask", json={"question": "x"}), 409)["remedy"]
    lacking = client.post("/v1/write", json={"records": []}, headers={"X-Test-Scopes": "read"})
    assert problem(lacking, 403)["fields"]["scope"] == "write"


def test_a_tenant_that_does_not_exist_is_not_made_and_no_path_is_told(client, tmp_path):
    response = client.get("/v1/stats", headers={"X-Test-Tenant": "other"})
    problem(response, 404)
    assert str(tmp_path) not in response.text
    assert [one["name"] for one in client.get("/v1/tenants").json()] == ["acme"]


def test_without_a_caller_nothing_is_answered_but_health(tmp_path):
    with served(tmp_path, guard=lambda app, service: app) as client:
        assert client.get("/health/live").json() == {"status": "ok"}
        response = client.get("/v1/stats")
        problem(response, 401)
        assert response.headers["www-authenticate"] == "Bearer"


def test_an_id_of_the_request_comes_back_unless_it_could_write_into_a_log(client):
    for given, kept in (("abc-1", True), ("a b", False), ("x" * 65, False)):
        sent = client.get("/health/live", headers={"X-Request-Id": given})
        assert (sent.headers["x-request-id"] == given) is kept


def test_a_home_that_cannot_be_opened_is_not_ready(client, tmp_path):
    assert client.get("/health/ready").json() == {"status": "ok", "tenants": 1}
    gone = tmp_path.rename(tmp_path.with_name(f"{tmp_path.name}-gone"))
    for _ in range(2):
        answer = client.get("/health/ready")
        assert answer.status_code == 503
        assert answer.json()["detail"] == "the home's folder is gone"
    gone.rename(tmp_path)
    assert client.get("/health/ready").status_code == 200


def test_long_answers_are_compressed(client):
    client.post("/v1/texts", json={"text": "Rain and more rain. " * 500, "uri": "rain"})
    with client.stream("POST", "/v1/sql", json={"text": "SELECT * FROM resources"}) as response:
        assert response.headers["content-encoding"] == "gzip"
        assert b"more rain" in gzip.decompress(b"".join(response.iter_raw()))


def test_a_full_disk_is_told_and_loses_nothing_that_was_acknowledged(tmp_path):
    with served(tmp_path) as client:
        kept = {"text": "The ferry leaves at noon.", "uri": "ferry.md"}
        assert client.post("/v1/texts", json=kept).status_code == 200
        with client.app.state.service.tenants.opened("acme") as memory:
            writer = memory.admin.store._database._writer._connection
        writer.pragma("max_page_count", writer.pragma("page_count") + 4)
        large = "\n\n".join(f"Line {number} of much." * 20 for number in range(200))
        more = {"text": large, "uri": "much.md"}
        once = {"Idempotency-Key": "much"}
        said = problem(client.post("/v1/texts", json=more, headers=once), 507)
        assert said["error"] == "StoreFullError"
        assert str(tmp_path) not in str(said)
        files = {"file": ("much.md", large.encode())}
        assert client.post("/v1/documents", files=files).status_code == 507
        found = client.post("/v1/search/text", json={"text": "ferry"}).json()["records"]
        assert [hit["record"]["uri"] for hit in found] == ["ferry.md"]
        assert client.post("/v1/search/text", json={"text": "much"}).json()["records"] == []
        writer.pragma("max_page_count", 1_000_000)
        # the same request is done now that there is room
        assert client.post("/v1/texts", json=more, headers=once).status_code == 200
