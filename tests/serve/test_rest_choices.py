"""What a request takes by name: choices, arguments, keys of writes; and how errors are linked."""

from pathlib import Path

import pytest

from remloom import errors
from remloom.errors import RemloomError
from remloom.serve.problems import TYPES, status_of
from serving import served

SERVING = Path(__file__).parents[2] / "docs" / "serving.md"


@pytest.fixture
def client(tmp_path):
    with served(tmp_path) as client:
        yield client


def nearest_of(response, status=422):
    assert response.status_code == status, response.text
    shown = response.json()
    assert shown["error"] == "UnknownNameError"
    return shown["detail"], shown["fields"]["nearest"], shown["remedy"]


def test_a_choice_that_there_is_not_is_told_with_the_nearest(client):
    sent = {"label_or_id": "a", "direction": "sideways"}
    detail, _, remedy = nearest_of(client.get("/v1/edges", params=sent))
    assert detail == "unknown direction 'sideways'"
    assert "known: both, in, out" in remedy
    detail, nearest, _ = nearest_of(client.get("/v1/records", params={"schema": "entity"}))
    assert (detail, nearest) == ("unknown schema 'entity'", ["entities"])
    records = {"records": [{"schema": "entity", "name": "a"}]}
    detail, nearest, _ = nearest_of(client.post("/v1/write", json=records))
    assert (detail, nearest) == ("unknown records[0].schema 'entity'", ["entities"])


@pytest.mark.parametrize(
    ("path", "name", "meant"),
    [("recall", "query", "question"), ("ask", "q", "question"), ("query", "sql", "statement")],
)
def test_what_others_call_an_argument_is_told_as_ours(client, path, name, meant):
    detail, nearest, remedy = nearest_of(client.post(f"/v1/{path}", json={name: "x"}))
    assert detail == f"unknown argument {name!r}"
    assert nearest == [meant]
    assert remedy.startswith(f"did you mean {meant!r}?")


@pytest.mark.parametrize(
    ("path", "sent", "detail", "meant"),
    [
        ("entities", {"entity": {"name": "a", "typ": "b"}}, "field of entity 'typ'", ["type"]),
        (
            "write",
            {"records": [{"schema": "entities", "name": "a"}, {"schema": "resources", "kin": "b"}]},
            "field of records[1] 'kin'",
            ["kind", "since"],
        ),
        (
            "chats",
            {"messages": [{"speaker": "a", "text": "b", "when": "2026-01-01"}], "uri": "c"},
            "field of messages[0] 'when'",
            [],
        ),
        (
            "moments",
            {"moment": {"name": "a", "present_persons": [{"name": "b", "roll": "c"}]}},
            "field of moment.present_persons[0] 'roll'",
            ["role"],
        ),
    ],
)
def test_a_field_that_an_object_does_not_have_is_refused(client, path, sent, detail, meant):
    said, nearest, remedy = nearest_of(client.post(f"/v1/{path}", json=sent))
    assert (said, nearest) == (f"unknown {detail}", meant)
    assert "known: " in remedy
    assert client.post("/v1/lookup", json={"labels": ["a"]}).json()["records"] == []


def test_what_a_user_keeps_with_a_record_may_have_any_name(client):
    resource = {"schema": "resources", "name": "a", "content": "b", "metadata": {"any": {"x": 1}}}
    assert client.post("/v1/write", json={"records": [resource]}).status_code == 200


def test_a_key_of_a_write_whose_reply_is_not_kept_is_refused(client):
    headers = {"Idempotency-Key": "k1"}
    wanted = {"name": "test", "scopes": ["read"]}
    refused = client.post("/v1/keys", json=wanted, headers=headers)
    assert refused.status_code == 400, refused.text
    assert refused.json()["detail"] == "Idempotency-Key is not for create_key"
    assert client.get("/v1/keys").json() == []
    assert client.get("/v1/keys", headers=headers).status_code == 200


def test_types_have_short_names_and_fields_their_words(client):
    described = client.get("/openapi.json").json()
    schemas = described["components"]["schemas"]
    assert all(name.isalnum() for name in schemas)
    assert {"ReaderPassage", "ToolsPassage"} <= set(schemas)
    for schema in schemas.values():
        assert "\n" not in schema.get("description", "")
    assert "last_used_at" in schemas["ApiKey"]["properties"]
    assert schemas["ApiKey"]["properties"]["tenant"]["description"].startswith("whose memory")


def test_each_error_has_its_place_in_the_page_that_it_links_to():
    page = SERVING.read_text()
    assert TYPES.endswith("/serving/#")
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, RemloomError):
            place = f'<span id="{name.lower()}">`{name}`</span>'
            assert f"| {place} | {status_of(kind.__new__(kind))} |" in page
