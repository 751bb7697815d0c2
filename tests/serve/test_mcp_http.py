"""MCP over HTTP: both revisions at one address, each request in the name of its key."""

import pytest

from serving import served

ACCEPT = {"Accept": "application/json, text/event-stream"}
MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def post(client, method, params=None, *, revision="2025-11-25", **headers):
    params = dict(params or {})
    sent = {**ACCEPT, "MCP-Protocol-Version": revision, **headers}
    if revision == MODERN:
        params["_meta"] = META
        sent["Mcp-Method"] = method
        if "name" in params:
            sent["Mcp-Name"] = params["name"]
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return client.post("/mcp", json=body, headers=sent)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with served(tmp_path_factory.mktemp("mcp"), tenants=("acme", "other")) as made:
        yield made


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
def test_both_revisions_are_answered(client, revision):
    listed = post(client, "tools/list", revision=revision).json()["result"]["tools"]
    assert len(listed) == 8
    call = {"name": "lookup", "arguments": {"labels": ["Nobody"]}}
    result = post(client, "tools/call", call, revision=revision).json()["result"]
    assert result["structuredContent"]["missing"] == ["Nobody"]


def test_tools_are_those_of_the_key_of_each_request(client):
    headers = {"x-test-scopes": "read"}
    listed = post(client, "tools/list", **headers).json()["result"]["tools"]
    assert "remember" not in [tool["name"] for tool in listed]
    call = {"name": "remember", "arguments": {"text": "x"}}
    assert post(client, "tools/call", call, **headers).json()["result"]["isError"]
    assert not post(client, "tools/call", call).json()["result"].get("isError")


def test_nothing_of_one_tenant_is_told_another(client):
    call = {
        "name": "remember",
        "arguments": {"text": "The vault code is 4711.", "about": ["Vault"]},
    }
    post(client, "tools/call", call)
    call = {"name": "recall", "arguments": {"question": "What is the vault code?"}}
    theirs = post(client, "tools/call", call, **{"x-test-tenant": "other"})
    assert "4711" not in theirs.text
    assert "4711" in post(client, "tools/call", call).text


def test_no_caller_no_answer(tmp_path):
    class NoGuard:
        def __init__(self, app, service):
            self.app = app

        async def __call__(self, scope, receive, send):
            await self.app(scope, receive, send)

    with served(tmp_path, guard=NoGuard) as client:
        reply = post(client, "tools/list")
        assert "result" not in reply.json()
        assert "tools" not in reply.text


def test_a_body_that_is_no_request_is_refused(client):
    for body in (b"{", b"[]", b"1", b'{"jsonrpc": "2.0"}'):
        reply = client.post(
            "/mcp", content=body, headers={**ACCEPT, "Content-Type": "application/json"}
        )
        assert 400 <= reply.status_code < 500


def test_no_error_tells_where_the_files_of_the_server_are(tmp_path):
    with served(tmp_path) as client:
        (tmp_path / "tenants" / "acme" / "memory.db").write_bytes(b"no database at all" * 1000)
        call = {"name": "lookup", "arguments": {"labels": ["x"]}}
        for method, params in {
            "tools/call": call,
            "resources/read": {"uri": "memory://stats"},
            "prompts/get": {"name": "context", "arguments": {"question": "x"}},
        }.items():
            answer = post(client, method, params)
            assert "rror" in answer.text
            assert str(tmp_path) not in answer.text
        assert str(tmp_path) not in client.get("/v1/stats").text
