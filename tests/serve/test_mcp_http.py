"""MCP over HTTP: both revisions at one address, each request in the name of its key."""

import json

import msgspec
import pytest

from serving import served

ACCEPT = {"Accept": "application/json, text/event-stream"}
MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def post(client, method, params=None, *, revision="2025-11-25", token=None, **headers):
    params = dict(params or {})
    sent = {**ACCEPT, "MCP-Protocol-Version": revision}
    if revision == MODERN:
        params["_meta"] = dict(META)
        sent["Mcp-Method"] = method
        if "name" in params:
            sent["Mcp-Name"] = params["name"]
    sent |= headers
    if token is not None:
        params.setdefault("_meta", {})["progressToken"] = token
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return client.post("/mcp", json=body, headers=sent)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with served(tmp_path_factory.mktemp("mcp"), tenants=("acme", "other")) as made:
        yield made


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
def test_both_revisions_are_answered(client, revision):
    listed = post(client, "tools/list", revision=revision).json()["result"]["tools"]
    assert len(listed) == 10
    call = {"name": "lookup", "arguments": {"labels": ["Nobody"]}}
    result = post(client, "tools/call", call, revision=revision).json()["result"]
    assert result["structuredContent"]["missing"] == ["Nobody"]


CALLS = {
    "found": {"name": "lookup", "arguments": {"labels": ["Vera"]}},
    "not found": {"name": "lookup", "arguments": {"labels": ["Nobody"]}},
    "an alias, and chatter": {"name": "lookup", "arguments": {"name": "Vera", "reasoning": "x"}},
    "an unknown argument": {"name": "lookup", "arguments": {"lables": ["Vera"]}},
    "a wrong value": {"name": "recall", "arguments": {"question": 7, "limit": "many"}},
    "no arguments": {"name": "show"},
    "recalled": {"name": "recall", "arguments": {"question": "Where does Véra live?"}},
    "a dry run": {"name": "forget", "arguments": {"what": ["Vera"]}},
}


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", MODERN])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_like_one_before_is_answered_as_by_the_sdk(client, name, revision, monkeypatch):
    from remloom.serve.mcp.http import _Endpoint

    written = {"name": "remember", "arguments": {"text": "Vera lives in Brno.", "about": ["Vera"]}}
    post(client, "tools/call", written)
    asked = []
    answer = _Endpoint._answer

    async def counted(self, *given):
        asked.append(given)
        await answer(self, *given)

    monkeypatch.setattr(_Endpoint, "_answer", counted)
    # one of its own, so that this has not been seen
    headers = {"revision": revision, "Mcp-Session-Id": f"{name} {revision}"}
    by_sdk, plain = (post(client, "tools/call", CALLS[name], **headers) for _ in range(2))
    assert len(asked) == 1
    assert plain.status_code == by_sdk.status_code
    assert plain.headers["content-type"] == by_sdk.headers["content-type"]
    first, second = _without_times(by_sdk.json()), _without_times(plain.json())
    assert second == first


def _without_times(reply):
    result = reply["result"]
    structured = result.get("structuredContent", {})
    for name in ("window", "receipt", "as_of"):
        structured.pop(name, None)
    return reply


def test_what_stands_around_a_call_is_looked_at_anew_when_it_changes(client):
    call = {"name": "lookup", "arguments": {"labels": ["Vera"]}}
    for _ in range(2):
        assert "result" in post(client, "tools/call", call, revision=MODERN).json()
    other = post(client, "tools/call", call, revision=MODERN, **{"Mcp-Name": "recall"})
    assert other.status_code == 400
    assert post(client, "tools/call", call, Accept="text/html").status_code == 406
    unknown = {"name": "no_such_tool", "arguments": {}}
    for _ in range(2):
        assert "error" in post(client, "tools/call", unknown).json()


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


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
def test_what_takes_long_tells_its_progress_to_who_asks(client, revision, monkeypatch):
    from remloom.operations.tools.recall import ASK
    from remloom.serve.mcp import server

    def slowly(memory, values, progress):
        for done in range(3):
            if progress:
                progress(done, 3)
        return ASK.gives(
            answer="42", citations=[], connections=[], doubts=[], statements=[], tokens=1
        )

    long = msgspec.structs.replace(ASK, does=slowly)
    monkeypatch.setattr(server, "_find", lambda tools, name: long)
    call = {"name": "ask", "arguments": {"question": "x"}}
    plain = post(client, "tools/call", call, revision=revision)
    assert plain.json()["result"]["structuredContent"]["answer"] == "42"
    told = post(client, "tools/call", call, revision=revision, token="mine")
    assert told.headers["content-type"].startswith("text/event-stream")
    sent = [
        json.loads(line.removeprefix("data: "))
        for line in told.text.splitlines()
        if line.startswith("data: {")
    ]
    *steps, last = sent
    assert last["result"]["structuredContent"]["answer"] == "42"
    assert steps
    assert {step["method"] for step in steps} == {"notifications/progress"}
    numbers = [step["params"]["progress"] for step in steps]
    assert numbers == sorted(set(numbers))
    assert steps[-1]["params"] == {"progressToken": "mine", "progress": 2.0, "total": 3.0}


def test_a_short_tool_answers_who_asks_for_progress(client):
    call = {"name": "lookup", "arguments": {"labels": ["Nobody"]}}
    assert "Nobody" in post(client, "tools/call", call, token=1).text


def test_each_phase_goes_on_with_the_count_of_the_one_before():
    from remloom.dream.context import LearnProgress
    from remloom.serve.mcp.server import _Steps

    steps = _Steps()
    told = [LearnProgress(phase=phase, done=done, total=2) for phase in "ab" for done in (1, 2)]
    assert [steps.next((one,)) for one in told] == [
        (1, 2, "a"), (2, 2, "a"), (3, 4, "b"), (4, 4, "b")
    ]  # fmt: skip
    assert steps.next((told[-1],)) is None


def test_nothing_is_announced_that_is_not_told(client):
    found = post(client, "server/discover", revision=MODERN).json()["result"]["capabilities"]
    for kind in ("tools", "prompts", "resources"):
        assert not any(found[kind].values())
    assert "error" in post(client, "subscriptions/listen", revision=MODERN).json()


def test_the_log_of_requests_says_which_tool_was_called(client, caplog):
    from remloom.serve.http.request_log import LOGGER

    caplog.set_level("INFO", LOGGER.name)
    LOGGER.propagate = True
    post(client, "tools/call", {"name": "lookup", "arguments": {"labels": ["Nobody"]}})
    post(client, "tools/list")
    post(client, "no/such/method")
    named = [json.loads(record.getMessage())["operation"] for record in caplog.records]
    assert named == ["lookup", "tools/list", ""]
    assert "no/such" not in client.get("/metrics").text
