"""Requests that no client of ours would send: each is answered, and no server is at fault."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_oauth import RESOURCE, Issuer

from guarded import bearer, guarded, make_key

FEW = settings(max_examples=60)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
TOKENS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def issuer():
    made = Issuer()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture(scope="module")
def client(tmp_path_factory, issuer):
    home = tmp_path_factory.mktemp("odd")
    with guarded(
        home,
        serve_oauth_issuer=issuer.url,
        serve_oauth_jwks_url=f"{issuer.url}/jwks.json",
        serve_oauth_resource=RESOURCE,
        serve_oauth_scopes="memory.read=read, memory.write=write",
        serve_rate=0,
    ) as client:
        client.key = make_key(home)
        yield client


def assert_clear(response):
    """It is done, or says what was wrong with the request."""
    assert response.status_code < 500, response.text
    if response.status_code >= 400 and response.request.method != "HEAD":
        assert response.text
        if "json" in response.headers.get("Content-Type", ""):
            told = response.json()
            assert told.get("detail") or told["error"]["message"], told


@FEW
@given(
    method=st.sampled_from(["GET", "HEAD", "DELETE", "PUT", "PATCH", "POST"]),
    headers=st.dictionaries(
        st.sampled_from(
            ["Accept", "Content-Type", "Last-Event-ID", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name",
             "MCP-Protocol-Version", "Range", "Prefer", "Idempotency-Key", "Content-Encoding"]
        ),
        TOKENS | st.sampled_from(["text/event-stream, application/json", "2025-11-25", "*/*"]),
    ),
)  # fmt: skip
@example(method="GET", headers={"Accept": "text/event-stream", "Last-Event-ID": "7"})
def test_odd_headers_are_no_fault_of_the_server(client, method, headers):
    response = client.request(method, "/mcp", headers=bearer(client.key, **headers), content=b"{}")
    assert_clear(response)
    if method != "POST":
        assert (response.status_code, response.headers["Allow"]) == (405, "POST")


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "lookup", "arguments": {"labels": ["Vera"]}}}  # fmt: skip
PLACES = [("id",), ("method",), ("params",), ("params", "name"), ("params", "arguments"),
          ("params", "_meta"), ("params", "arguments", "labels"), ("jsonrpc",)]  # fmt: skip


@FEW
@given(place=st.sampled_from(PLACES), value=JSON)
@example(place=("params", "arguments", "labels"), value=["\ud800"])
@example(place=("id",), value="\ud800")
def test_odd_messages_are_answered(client, place, value):
    message = json.loads(json.dumps(CALL))
    inner = message
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    headers = bearer(
        client.key,
        **{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
           "MCP-Protocol-Version": "2025-11-25"},
    )  # fmt: skip
    assert_clear(client.post("/mcp", content=json.dumps(message).encode(), headers=headers))


@FEW
@given(
    claim=st.sampled_from(["scope", "scp", "tenant", "sub", "exp", "nbf", "iat", "aud"]), value=JSON
)
@example(claim="scope", value=7)
@example(claim="scope", value=[{"read": 1}])
@example(claim="scp", value=None)
@example(claim="exp", value={})
@example(claim="exp", value=float("inf"))
def test_signed_tokens_with_odd_claims_are_refused_or_taken(client, issuer, claim, value):
    without = ("scope",) if claim == "scp" else ()
    try:
        token = issuer.token(without=without, **{claim: value})
    except (TypeError, ValueError, UnicodeEncodeError):
        return  # the issuer itself refuses to sign it
    response = client.get("/v1/stats", headers=bearer(token))
    assert_clear(response)
    if claim in ("scope", "scp") and "memory.read" not in str(value):
        assert response.status_code == 403


@FEW
@given(
    headers=st.dictionaries(
        st.sampled_from(["Content-Type", "X-File-Name"]),
        TOKENS
        | st.sampled_from(["multipart/form-data", "multipart/form-data; boundary=x", "text/plain"]),
    ),
    body=st.binary(max_size=40)
    | st.just(b'--x\r\nContent-Disposition: form-data; name="file"\r\n'),
)
def test_odd_uploads_are_no_fault_of_the_server(client, headers, body):
    sent = client.build_request("POST", "/v1/documents?wait=false", content=body)
    sent.headers.pop("Content-Type", None)
    sent.headers.update(bearer(client.key, **headers))
    assert_clear(client.send(sent))


def test_a_file_without_a_type_is_told_the_ways_to_send_one(client):
    response = client.post("/v1/documents", content=b"%PDF-1.7", headers=bearer(client.key))
    assert response.status_code == 422
    told = response.json()
    assert "Content-Type" in told["detail"]
    assert all(way in told["remedy"] for way in ("multipart/form-data", "X-File-Name", "JSON"))
    named = bearer(client.key, **{"X-File-Name": "note.md"})
    assert client.post("/v1/documents", content=b"A note.", headers=named).status_code == 200
