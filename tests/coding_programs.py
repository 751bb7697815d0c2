"""The real programs of coding agents, offline: own homes, dummy keys, and a model that is a script.

They are found in the folder that REMLOOM_TEST_PROGRAMS names (`npm install` there; its
`node_modules/.bin`). Without it, tests that run them are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

FOLDER = os.environ.get("REMLOOM_TEST_PROGRAMS", "")
ANSWERS = {
    "use PostgreSQL": "The queue is in PostgreSQL: workers take jobs with SKIP LOCKED.",
    "what did we decide": "That is in what I was given.",
}
_PROGRAMS = {
    "claude-code": ("claude", "-p"),
    # nobody is there to trust a hook
    "codex": ("codex", "exec", "--dangerously-bypass-hook-trust"),
    "gemini": ("gemini", "-p"),
    "opencode": ("opencode", "run"),
}
_SECONDS = 280.0


def find(client: str) -> str | None:
    """The program of a client, if it is there."""
    return shutil.which(_PROGRAMS[client][0], path=FOLDER) if FOLDER else None


class Model:
    """An endpoint in the forms of Anthropic, OpenAI and Google: it answers by a script."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.requests: list[dict[str, Any]] = []

    def answer(self, body: dict[str, Any]) -> str:
        said = json.dumps(body)
        found = {said.rfind(asked): answer for asked, answer in ANSWERS.items()}
        return found[max(found)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._send(b'{"data": [], "models": []}', "application/json")

    def do_POST(self) -> None:
        body = json.loads(self._read() or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith(("count_tokens", "countTokens")):
            return self._send(b'{"input_tokens": 9, "totalTokens": 9}', "application/json")
        self.model.requests.append(body)
        answer = self.model.answer(body)
        if path.endswith("/messages"):
            events = _anthropic(answer)
        elif path.endswith("/responses"):
            events = _responses(answer)
        elif path.endswith("/chat/completions"):
            events = _completions(answer)
        else:
            events = _google(answer)
        if not (body.get("stream") or "stream" in self.path):
            return self._send(json.dumps(_whole(path, answer)).encode(), "application/json")
        lines = [
            (f"event: {one['type']}\n" if "type" in one else "") + f"data: {json.dumps(one)}\n\n"
            for one in events
        ]
        lines += ["data: [DONE]\n\n"] if path.endswith("/chat/completions") else []
        return self._send("".join(lines).encode(), "text/event-stream")

    def _read(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().strip() or b"0", 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _anthropic_message(answer: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": answer}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 9},
    }


def _anthropic(answer: str) -> list[dict[str, Any]]:
    begun = {**_anthropic_message(answer), "content": [], "stop_reason": None}
    return [
        {"type": "message_start", "message": begun},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": answer},
        },
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]


def _responses(answer: str) -> list[dict[str, Any]]:
    usage = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}
    item = {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "content": [{"type": "output_text", "text": answer}],
    }
    return [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}},
    ]


def _completions(answer: str) -> list[dict[str, Any]]:
    base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    delta = {"role": "assistant", "content": answer}
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    return [
        {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {
            **base,
            "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            "usage": usage,
        },
    ]


def _google(answer: str) -> list[dict[str, Any]]:
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 9, "totalTokenCount": 18}
    content = {"role": "model", "parts": [{"text": answer}]}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return [{"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}]


def _whole(path: str, answer: str) -> dict[str, Any]:
    if path.endswith("/messages"):
        return _anthropic_message(answer)
    # of which model, or who speaks next: the program asks for JSON
    asked = {"complexity_score": 1, "complexity_reasoning": "", "reasoning": "", "next_speaker": ""}
    return _google(json.dumps({**asked, "next_speaker": "user", "model_choice": "flash"}))[0]


@contextmanager
def scripted_model() -> Iterator[Model]:
    """Serve a model as long as the block goes on."""
    handler = type("Handler", (_Handler,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        handler.model = model = Model(server.server_address[1])
        Thread(target=server.serve_forever, daemon=True).start()
        yield model
        server.shutdown()


class Program:
    """A program with an own home, in which it has been set up for a scripted model."""

    def __init__(self, client: str, home: Path, model: Model) -> None:
        self.client = client
        self.home = home
        home.mkdir(parents=True)
        # what is not on this machine is behind a proxy that is not there
        nowhere = "http://127.0.0.1:9"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "NO_PROXY": "127.0.0.1",
            **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "https_proxy", "http_proxy"), nowhere),
            "REMLOOM_HOME": str(home / "data"),
            "REMLOOM_EMBEDDER": "none",
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "GOOGLE_GEMINI_BASE_URL": model.url,
            "GEMINI_API_KEY": "dummy",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OWN_KEY": "dummy",
        }
        for name, text in _settings(model.url).items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def run(self, prompt: str, folder: Path) -> str:
        """Have it work on a prompt, in a session of its own, and return what it prints."""
        program = find(self.client)
        assert program
        done = subprocess.run(
            [program, *_PROGRAMS[self.client][1:], prompt],
            cwd=folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout


def _settings(url: str) -> dict[str, str]:
    """What the programs have in their settings: the model, and nothing that goes elsewhere."""
    codex = f"""
model = "gpt-5.1"
model_provider = "own"
approval_policy = "never"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.own]
name = "own"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OWN_KEY"
"""
    gemini = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False},
    }
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "own",
        "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"},
        "models": {"m": {"name": "m", "limit": {"context": 100000, "output": 8000}}},
    }
    opencode = {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "model": "own/m",
        "small_model": "own/m",
        "enabled_providers": ["own"],
        "provider": {"own": provider},
    }
    return {
        ".codex/config.toml": codex,
        ".gemini/settings.json": json.dumps(gemini),
        ".config/opencode/opencode.json": json.dumps(opencode, indent=2),
    }
