"""The files of the pages: small, the same as released, and bound to their own server."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from starlette.applications import Starlette
from starlette.testclient import TestClient

from remloom import Settings
from remloom.operations import OPERATIONS, TOOLS
from remloom.retrieve import PARTS
from remloom.serve.cli.views.runs import NOUNS
from remloom.serve.service import Service
from remloom.serve.ui import CONTENT_SECURITY_POLICY, STATIC, mount

OURS = sorted(path for path in STATIC.rglob("*") if path.suffix in {".js", ".css", ".html"})
OURS = [path for path in OURS if path.parent.name != "vendor"]
FIRST_VIEW = 200_000  # bytes, compressed


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(routes=mount(Service(Settings()))))


def imports(path: Path) -> set[Path]:
    """The modules that a module cannot do without, and those that they need."""
    found = {path}
    for name in re.findall(r'^(?:import|export) .*?from "(.+?)";', path.read_text(), re.MULTILINE):
        found |= imports((path.parent / name).resolve())
    return found


def test_libraries_are_those_whose_checksums_are_written_down() -> None:
    vendor = STATIC / "vendor"
    lines = (vendor / "SHA256SUMS").read_text().splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert sums.keys() == {path.name for path in vendor.iterdir()} - {"SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == digest, name


def test_the_first_view_is_small_and_has_no_graph_library() -> None:
    modules = imports(STATIC / "app.js") | imports(STATIC / "pages" / "ask.js")
    files = [*modules, STATIC / "index.html", STATIC / "style.css", STATIC / "favicon.svg"]
    assert "cytoscape.js" not in {path.name for path in files}
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) < FIRST_VIEW


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_no_file_names_another_origin_or_writes_markup(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"https?://|innerHTML|outerHTML|insertAdjacentHTML|document\.write", text)
    assert not re.search(r"\beval\(|new Function|dangerouslySetInnerHTML|\bon[a-z]{3,}=\"", text)


def test_every_file_is_given_with_the_policy(client: TestClient) -> None:
    for path in STATIC.rglob("*.*"):
        answer = client.get(f"/ui/{path.relative_to(STATIC).as_posix()}")
        assert answer.status_code == 200, path
        assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_scripts_are_javascript(client: TestClient) -> None:
    for path in STATIC.rglob("*.js"):
        answer = client.get(f"/ui/{path.relative_to(STATIC).as_posix()}")
        assert answer.headers["content-type"].startswith(("text/javascript", "application/javascr"))


def test_the_root_leads_to_the_pages(client: TestClient) -> None:
    answer = client.get("/")
    assert answer.url.path == "/ui/"
    assert "<title>Remloom</title>" in answer.text


@pytest.mark.parametrize("path", ["/ui/../routes.py", "/ui/%2e%2e/routes.py", "/ui/none.js"])
def test_nothing_else_is_given(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_every_path_that_the_pages_call_is_in_the_table() -> None:
    known = {operation.route.path for operation in OPERATIONS if operation.route}
    known |= {"/v1/session", *(f"/v1/tools/{tool.name}" for tool in TOOLS)}
    patterns = {re.sub(r"\{\w+\}", "{}", path) for path in known}
    text = "".join(path.read_text(encoding="utf-8") for path in OURS)
    called = set(re.findall(r"[\"`](/v1/[^\"`?\s]*)[\"`]", text))
    assert len(called) > 25
    # what a page puts into a path stands for a parameter, or for the last words of one
    asked = {re.sub(r"\$\{[^}]*\}", "{}", path) for path in called}
    unknown = {path for path in asked - patterns if path != "/v1/profile/{}"}
    assert unknown == set()


def test_each_part_of_a_score_has_its_words_on_the_page() -> None:
    page = (STATIC / "pages" / "ask.js").read_text(encoding="utf-8")
    words = re.search(r"const PARTS = \{(.*?)\};", page, re.DOTALL)
    assert words is not None
    assert set(re.findall(r"(\w+): \"", words[1])) == set(PARTS)


def test_what_a_run_counts_has_the_words_of_the_command_line_on_the_page() -> None:
    page = (STATIC / "pages" / "dreams.js").read_text(encoding="utf-8")
    table = re.search(r"const COUNTS = (\{.*?),\s*\};", page, re.DOTALL)
    assert table is not None
    words = {name: tuple(pair) for name, pair in json.loads(table[1] + "}").items()}
    assert words == NOUNS
