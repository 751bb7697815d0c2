"""The MCP server in this process: what agents see, and what their calls do."""

import json
import re

import anyio
import jsonschema
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from remloom.memory import Home
from remloom.operations import TOOLS
from remloom.serve.caller import Caller
from remloom.serve.mcp.server import make_server
from remloom.serve.service import Service
from remloom.settings import Settings
from remloom.tenancy.api_keys import SCOPES

SENTENCE = "Sarah Chen moved to Lisbon in May 2025."


@pytest.fixture
def service(tmp_path):
    settings = Settings.load(home=str(tmp_path), tenant="acme", embedder="none")
    Home(str(tmp_path)).create("acme")
    made = Service(settings)
    yield made
    made.close()


def use(service, work, *, scopes=SCOPES, toolset="default", tenant="acme"):
    """Run `work(client)` against a server for a caller with these scopes."""
    caller = Caller(key_id="test", tenant=tenant, scopes=frozenset(scopes))
    server = make_server(service, lambda context: caller, toolset)

    async def run():
        async with Client(server) as client:
            return await work(client)

    return anyio.run(run)


def text_of(result):
    return result.content[0].text


def test_the_default_tools_take_few_tokens(service):
    listed = use(service, lambda client: client.list_tools())
    shown = listed.model_dump(by_alias=True, exclude_none=True, mode="json")
    assert len(shown["tools"]) == 10
    # four bytes of such JSON are about a token
    assert len(json.dumps(shown, separators=(",", ":"))) < 10_000
    for tool in shown["tools"]:
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])
        assert tool["annotations"]["openWorldHint"] is False


def test_structured_content_is_valid_by_its_own_schema(service):
    calls = [
        ("remember", {"text": SENTENCE, "about": ["Sarah Chen"]}),
        ("remember", {"messages": [{"role": "user", "content": "Rex is my dog."}]}),
        ("recall", {"question": "Where does Sarah Chen live?", "explain": True}),
        ("recall", {"question": "What is the capital of Mongolia?"}),
        ("lookup", {"labels": ["Sarah Chen", "Nobody"]}),
        ("relate", {"src": "Sarah Chen", "relation": "lives_in", "dst": "Lisbon"}),
        ("show", {"what": "Sarah Chen"}),
        ("query", {"statement": 'TRAVERSE * WITH LOOKUP "Sarah Chen" DEPTH 1'}),
        ("query", {"statement": 'TRAVERSE WITH LOOKUP "Sarah Chen" DEPTH 0'}),
        ("query", {"statement": "SELECT name, starts_at FROM resources LIMIT 3"}),
        ("query", {"statement": 'FUZZY "sara" LIMIT 3'}),
        ("timeline", {"limit": 5}),
        ("refresh", {"dry_run": True}),
        ("forget", {"what": ["Sarah Chen"]}),
        ("forget", {"what": ["Sarah Chen"], "dry_run": False}),
    ]

    async def work(client):
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            assert not result.is_error, text_of(result)
            assert text_of(result)
            jsonschema.validate(result.structured_content, schemas[name])

    use(service, work)


def test_all_operations_are_tools_if_asked_for(service):
    async def work(client):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"recall", "dream", "rollback", "list_runs"} <= tools.keys()
        for tool in tools.values():
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        written = await client.call_tool("read_text", {"text": SENTENCE, "uri": "note"})
        assert written.structured_content["resources"] == 1
        runs = await client.call_tool("list_runs", {})
        assert runs.structured_content == {"result": []}

    use(service, work, toolset="all")


def test_chatgpt_has_search_and_fetch(service):
    async def work(client):
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search", "fetch"]
        found = await client.call_tool("search", {"query": "Where is Sarah Chen?"})
        [result] = found.structured_content["results"]
        assert json.loads(text_of(found)) == found.structured_content
        document = await client.call_tool("fetch", {"id": result["id"]})
        assert document.structured_content["text"] == SENTENCE
        with pytest.raises(MCPError):
            await client.call_tool("forget", {"what": ["x"]})

    use(service, lambda client: client.call_tool("remember", {"text": SENTENCE}))
    use(service, work, toolset="chatgpt")


def test_a_tool_without_its_scope_is_not_listed_and_refused(service):
    async def work(client):
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["recall", "lookup", "query", "show", "timeline"]
        for name, arguments in (("remember", {"text": "x"}), ("forget", {"no": "such"})):
            refused = await client.call_tool(name, arguments)
            assert refused.is_error
            assert "no scope" in text_of(refused)

    use(service, work, scopes=["read"])
    found = use(service, lambda client: client.call_tool("recall", {"question": "x"}))
    assert found.structured_content["abstained"]


def test_a_tenant_is_not_made_by_reading(service):
    result = use(service, lambda client: client.call_tool("lookup", {"labels": ["x"]}), tenant="no")
    assert result.is_error
    assert "no" not in [one.name for one in Home(service.settings.home).tenants()]


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("query", {"statement": 'LOOKP "x"'}, '^\n  expected: EXPLAIN'),
        ("query", {"statement": 'LOOKP "x"'}, 'for example: LOOKUP "Sarah Chen"'),
        ("recall", {"questoin": "x"}, "did you mean 'question'"),
        ("recall", {"question": "x", "q": "y"}, "question is given twice"),
        ("recall", {"question": "x", "limit": "many"}, "limit: Expected `int`"),
        ("recall", {"question": "x", "limit": 0}, "limit: Expected `int` >= 1"),
        ("recall", {}, "missing required field `question`"),
        ("recall", {"question": "x", "tenant": "other"}, "unknown argument 'tenant'"),
        ("lookup", {"labels": ["a\0"]}, "labels: Expected `str` matching regex"),
        ("show", {"what": "nobody"}, "nobody"),
    ],
)  # fmt: skip
def test_an_error_is_told_as_text_that_a_model_can_mend(service, name, arguments, says):
    result = use(service, lambda client: client.call_tool(name, arguments))
    assert result.is_error
    assert says in text_of(result)
    assert "Traceback" not in text_of(result)


def test_an_unexpected_error_tells_no_path_of_the_server(service, monkeypatch):
    def fail(*args):
        raise RuntimeError("/secret/path")

    monkeypatch.setattr(type(service), "call", fail)
    result = use(service, lambda client: client.call_tool("lookup", {"labels": ["x"]}))
    assert result.is_error
    assert "secret" not in result.model_dump_json()


def test_resources_and_the_prompt_are_read(service):
    async def work(client):
        await client.call_tool("remember", {"text": SENTENCE})
        assert [one.name for one in (await client.list_resources()).resources] == [
            "dialect", "stats", "schemas",
        ]  # fmt: skip
        dialect = (await client.read_resource("memory://dialect")).contents[0].text
        assert "TRAVERSE" in dialect
        stats = json.loads((await client.read_resource("memory://stats")).contents[0].text)
        assert stats["types"]["resources"] == {"note": 1}
        assert json.loads((await client.read_resource("memory://schemas")).contents[0].text) == []
        record = (await client.read_resource("memory://record/Sarah%20Chen")).contents[0].text
        assert "quoted data" in record
        for uri in ("memory://record/Nobody", "memory://nothing", "file:///etc/passwd"):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert refused.value.error.code == -32602
        prompt = await client.get_prompt("context", {"question": "Where does Sarah Chen live?"})
        assert f"> {SENTENCE}" in prompt.messages[0].content.text
        with pytest.raises(MCPError):
            await client.get_prompt("context", {})

    use(service, work)


def test_every_statement_of_the_dialect_page_is_right(service):
    from remloom.query.parser import parse

    page = use(service, lambda client: client.read_resource("memory://dialect")).contents[0].text
    statements = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert len(statements) > 8
    for statement in statements:
        parse(statement)


def test_descriptions_are_constants(service):
    use(service, lambda client: client.call_tool("remember", {"text": SENTENCE}))
    listed = use(service, lambda client: client.list_tools()).model_dump_json()
    assert "Sarah Chen moved" not in listed
    assert all(tool.description.isascii() or "…" in tool.description for tool in TOOLS)


def test_all_tools_take_no_more_than_they_must(service):
    everything = use(service, lambda client: client.list_tools(), toolset="all")
    shown = everything.model_dump(by_alias=True, exclude_none=True, mode="json")
    assert len(shown["tools"]) > 90
    assert len(json.dumps(shown, separators=(",", ":"))) < 58_000
    for tool in shown["tools"]:
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        # nothing is named that is not there
        text = json.dumps(tool["inputSchema"])
        named = set(re.findall(r"#/\$defs/(\w+)", text))
        assert named == set(tool["inputSchema"].get("$defs", {})), tool["name"]


def test_what_the_schema_of_write_leaves_out_is_taken_all_the_same(service):
    record = {"schema": "resources", "content": SENTENCE, "ordinal": 3, "kind": "chunk"}

    async def work(client):
        return await client.call_tool("write", {"records": [record]})

    assert not use(service, work, toolset="all").is_error
