"""MCP over stdio, in processes of their own."""

import json
import os
import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from remloom import Memory
from remloom._version import __version__
from remloom.serve.cli.app import program
from remloom.serve.cli.commands.mcp import clients
from waiting import PATIENCE

# whatever prints does not reach the client
NOISY = """
import os, sys
from remloom.operations.tools import lookup
def noisy(memory, values, progress):
    print("stray")
    os.write(1, b"stray bytes")
    os.system("echo stray child")
    return does(memory, values, progress)
does = lookup.LOOKUP.does
import msgspec
from remloom.operations import tools
quiet = lookup.LOOKUP
loud = msgspec.structs.replace(quiet, does=noisy)
tools.TOOLS = tuple(loud if one is quiet else one for one in tools.TOOLS)
from remloom.serve.cli import main
sys.argv = ["remloom", "mcp"]
main()
"""


class Server:
    """A server in a process of its own, spoken to line by line."""

    def __init__(self, home, *command):
        environment = {**os.environ, "REMLOOM_HOME": str(home), "REMLOOM_EMBEDDER": "none"}
        self.process = subprocess.Popen(
            [sys.executable, *(command or ("-m", "remloom", "mcp"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.number = 0
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        self.hello = self.ask("initialize", hello)
        self.cpu_at_hello = cpu_of(self.process.pid)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return json.loads(self.process.stdout.readline())["result"]

    def call(self, name, **arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def end(self):
        """End stdin; everything else that stands on stdout, and the exit code."""
        rest, _ = self.process.communicate(timeout=PATIENCE)
        return rest, self.process.returncode


def cpu_of(pid):
    """Seconds of CPU that a process has used; 0 where that is not told."""
    path = Path(f"/proc/{pid}/stat")
    if not path.exists():
        return 0.0
    fields = path.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_two_servers_on_one_memory_lose_nothing_and_stray_prints_reach_nobody(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        servers = list(pool.map(lambda code: Server(tmp_path, "-c", code), [NOISY, NOISY]))

        def write(number):
            for index in range(10):
                text = f"Fact {index} of agent {number}."
                made = servers[number].call("remember", text=text, source=f"agent-{number}")
                assert made["structuredContent"]["added"] == 1
                assert "structuredContent" in servers[number].call("lookup", labels=["x"])

        # on a machine that does nothing else, its CPU is its time
        assert all(server.cpu_at_hello < 4 for server in servers)
        list(pool.map(write, range(2)))
        assert [server.end() for server in servers] == [("", 0), ("", 0)]
    with Memory.open(tmp_path, embedder="none", create=False) as memory:
        texts = {record.content for record in memory.admin.records("resources")}
    assert texts == {f"Fact {index} of agent {number}." for index in range(10) for number in (0, 1)}


@pytest.fixture(scope="module")
def stdio(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("stdio"))
    yield server
    server.end()


def call_with(label):
    return (
        '{"jsonrpc": "2.0", "id": 1000, "method": "tools/call", '
        f'"params": {{"name": "lookup", "arguments": {{"labels": [{label}]}}}}}}'
    )


@settings(max_examples=60)
@given(
    st.integers(0xD800, 0xDFFF).map(lambda code: call_with(f'"\\u{code:04x}"'))
    | st.integers(1, len(call_with('"x"')) - 1).map(lambda end: call_with('"x"')[:end])
    | st.sampled_from(["jsonrpc", "method", "params"]).map(
        lambda name: call_with('"x"').replace(f'"{name}": ', f'"{name}": [], "no": ')
    )
)
@example("[]")
@example("null")
@example("[" * 10_000)
@example('{"jsonrpc": "2.0", "id": "\\udc00", "method": "ping"}')
def test_a_line_that_is_no_message_is_answered_with_an_error(stdio, line):
    stdio.process.stdin.write(line + "\n")
    stdio.number += 1
    stdio.send({"jsonrpc": "2.0", "id": stdio.number, "method": "ping"})
    first = json.loads(stdio.process.stdout.readline())
    # after the answer to the line, that to what was sent after it
    assert first["error"]["message"], first
    assert json.loads(stdio.process.stdout.readline())["id"] == stdio.number
    try:
        id = json.loads(line)["id"]
    except (ValueError, RecursionError, TypeError):
        return
    assert first["id"] == (id if id == 1000 else None)


def test_calls_are_in_the_audit_log(tmp_path):
    server = Server(tmp_path)
    server.call("remember", text="Sarah Chen manages Bob.", source="team")
    assert server.end() == ("", 0)
    with Memory.open(tmp_path, embedder="none", create=False) as memory:
        (noted,) = memory.admin.audit()
        (record,) = memory.admin.records("resources")
    assert (noted.key_id, noted.operation, noted.outcome) == ("stdio", "remember", "done")
    assert record.id in noted.records
    assert "Sarah" not in str(noted)


def print_config(*arguments):
    result = CliRunner().invoke(program, ["mcp", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("name", clients())
def test_a_client_is_told_how_to_start_the_server(name, tmp_path):
    client = clients()[name]
    printed = print_config(
        "--print-config", name, "--home", str(tmp_path), "--tenant", "me", "--read-only"
    )
    read = tomllib.loads if client.format == "toml" else msgspec.json.decode
    entry = read(printed)[client.table]["remloom"]
    assert entry["args"][-2:] == ["mcp", "--read-only"]
    assert entry["env"] == {"REMLOOM_HOME": str(tmp_path), "REMLOOM_TENANT": "me"}


def test_a_client_is_told_the_home_and_tenant_of_the_shell(tmp_path, monkeypatch):
    monkeypatch.setenv("REMLOOM_HOME", str(tmp_path))
    monkeypatch.setenv("REMLOOM_TENANT", "me")
    entry = msgspec.json.decode(print_config("--print-config", "cursor"))["mcpServers"]["remloom"]
    assert entry["env"] == {"REMLOOM_HOME": str(tmp_path), "REMLOOM_TENANT": "me"}
    monkeypatch.setenv("REMLOOM_HOME", "postgresql://u:secret@db/memories")
    assert "secret" not in print_config("--print-config", "cursor")


def test_a_client_that_is_not_known_has_the_nearest_named():
    result = CliRunner().invoke(program, ["mcp", "--print-config", "claude-desktp"])
    assert result.exit_code == 2
    assert "claude-desktop" in result.output


def test_the_description_of_the_server_has_the_version_of_the_package():
    described = json.loads((Path(__file__).parents[2] / "server.json").read_text("utf-8"))
    versions = {described["version"], *(one["version"] for one in described["packages"])}
    assert versions == {__version__}
    assert len(described["description"]) <= 100


def test_the_plugin_for_claude_code_starts_this_server():
    folder = Path(__file__).parents[2] / "examples" / "claude-code"
    manifest = json.loads((folder / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    # what a plugin has to have, and the form of its name
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", manifest["name"])
    assert manifest["version"] == __version__
    assert set(manifest) <= {
        "name", "version", "description", "author", "homepage", "repository", "license", "keywords"
    }  # fmt: skip
    started = json.loads((folder / ".mcp.json").read_text("utf-8"))["mcpServers"]["remloom"]
    assert started["command"] == "remloom"
    assert CliRunner().invoke(program, [*started["args"], "--help"]).exit_code == 0
