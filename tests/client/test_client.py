"""A client does what `Memory` does: the tests of `Memory` itself, over HTTP, and what is its own."""

from __future__ import annotations

import asyncio
import inspect
import io
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

import test_memory
from endpoint import endpoint, failed
from remloom import (
    AsyncClient,
    Client,
    Entity,
    Home,
    Memory,
    Message,
    Moment,
    RecallOptions,
    Resource,
    Row,
)
from remloom.client import plans
from remloom.errors import (
    AuthenticationError,
    ConflictError,
    EmbedderError,
    InvalidInputError,
    ModelError,
    NotFoundError,
    RowError,
    SchemaChangeError,
    ServerError,
    UnknownNameError,
)
from remloom.memory.admin import Admin
from remloom.operations import OPERATIONS
from remloom.predicates import Eq, Gt, Or, Query
from remloom.profile.service import Profiles
from remloom.reader.loop.events import EventType, ReadEvent
from remloom.schema.service import Schemas
from remloom.serve.http.app import create_app
from remloom.serve.service import Service
from remloom.settings import Settings
from remloom.tenancy.api_keys import SCOPES

URL = "http://127.0.0.1:8765"
# tests of `Memory` that look at what a server does not offer
NOT_OVER_HTTP = {
    "test_a_vector_too_large_for_its_type_is_refused_without_a_warning": "",
    "test_a_regular_expression_that_would_never_end_is_stopped": "",
    "test_an_empty_name_does_not_stand_for_all_that_was_not_read": "None is no text of JSON",
}


@contextmanager
def served(home: Path) -> Iterator[tuple[Any, str]]:
    """A server of a home, and a key that may do everything in its tenant "default"."""
    service = Service(Settings.load(home=str(home), embedder="none"))
    key = service.keys.create("test", SCOPES, tenant="default").key
    try:
        yield create_app(service.settings, service=service), key
    finally:
        service.close()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Client]:
    Home(tmp_path).create("default")
    with (
        served(tmp_path) as (app, key),
        TestClient(app, base_url=URL) as http,
        Client(URL, key=key, http=http) as client,
    ):
        yield client


def _shared() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, function in vars(test_memory).items():
        if name.startswith("test_") and name not in NOT_OVER_HTTP:
            taken = set(inspect.signature(function).parameters)
            if "memory" in taken and "tmp_path" not in taken:
                yield name, function


# what is collected from here runs with the client as its memory
globals().update(_shared())


def test_each_method_has_the_signature_and_words_of_memory() -> None:
    for ours, theirs in ((Client, Memory), (AsyncClient, Memory)):
        own = {one.method for one in OPERATIONS if one.method and one.needs == "memory"}
        for name in {name for name in own if "." not in name}:
            assert inspect.signature(getattr(ours, name)) == inspect.signature(
                getattr(theirs, name)
            )
            assert inspect.getdoc(getattr(ours, name)) == inspect.getdoc(getattr(theirs, name))


def _ours(noun: str) -> Any:
    owner: Any = Memory
    return (
        inspect.get_annotations(getattr(owner, noun).fget, eval_str=True)["return"]
        if noun
        else owner
    )


def test_each_operation_is_a_method_of_both_clients() -> None:
    for operation in OPERATIONS:
        if not operation.method or operation.needs != "memory":
            continue
        noun, _, name = operation.method.rpartition(".")
        if noun == "reader" or not hasattr(_ours(noun), name):
            continue
        for kind in (Client, AsyncClient):
            owner: Any = kind
            if noun:
                owner = inspect.get_annotations(getattr(kind, noun).fget, eval_str=True)["return"]
            assert callable(getattr(owner, name)), operation.method
            assert inspect.iscoroutinefunction(getattr(owner, name)) == (kind is AsyncClient)


def test_values_and_conditions_go_there_and_back(memory: Client) -> None:
    memory.write([Resource(name="note", content="Sarah drinks green tea.", category="diary")])
    memory.read_chat(
        [Message(speaker="Ann", text="I moved to Porto.", at=datetime(2026, 1, 2, tzinfo=UTC))],
        uri="chat/1",
    )
    found = memory.search_text("green tea", where=Or((Eq("category", "diary"), Eq("name", "x"))))
    assert [hit.name for hit in found.records] == ["note"]
    options = RecallOptions(limit=1, where=Eq("category", "diary"))
    recalled = memory.recall("What does Sarah drink?", options, explain=True)
    assert [hit.record.content for hit in recalled.hits] == ["Sarah drinks green tea."]
    assert "green tea" in memory.context("What does Sarah drink?", limit=1)
    assert memory.admin.stats().records["resources"] == 2


def test_nouns_are_there(memory: Client) -> None:
    memory.profile.set("location", "Porto")
    belief = memory.profile.get("location")
    assert belief is not None
    assert belief.value == "Porto"
    assert memory.runs.list()[0].kind == "profile"
    assert memory.jobs.list() == []
    # the server's own worker would take one that is due
    job = memory.jobs.add("moments", key="once", not_before=datetime(2126, 1, 1, tzinfo=UTC))
    assert memory.jobs.list() == [memory.jobs.get(job.id)]


def test_schemas_are_registered_and_their_rows_written_and_found(
    memory: Client, tmp_path: Path
) -> None:
    file = tmp_path / "orders.toml"
    file.write_text(
        'schema_name = "orders"\nentity_types = ["order"]\nhandle = ["number"]\n'
        '[fields]\nnumber = "integer"\ntotal = "decimal"\nday = "date"\n'
    )
    done = memory.schemas.register(file)
    assert (done.schema_name, done.version) == ("orders", 1)
    assert memory.schemas.register(file).changes == ()
    fields = {"number": 7, "total": Decimal("19.90"), "day": date(2026, 1, 2)}
    id = memory.schemas.create_row(Row(schema="orders", fields=fields))
    memory.write([Row(schema="orders", fields={"number": 8, "total": "3.50"})])
    assert memory.schemas.get_row("orders", "order-7").id == id
    found = memory.schemas.query_rows("orders", Query().filter(Gt("total", 5)))
    assert [row.handle for row in found] == ["order-7"]
    assert memory.sql("SELECT sum(total) AS sum FROM orders").rows == [(23.4,)]
    assert [hit.schema for hit in memory.lookup("order-8").records] == ["orders"]
    assert {record.schema for record in memory.admin.records()} == {"orders"}
    assert [one.schema_name for one in memory.schemas.list()] == ["orders"]
    with pytest.raises(SchemaChangeError, match="day"):
        memory.schemas.register(schema_name="orders", fields={"number": "integer"})
    with pytest.raises(RowError, match="total"):
        memory.schemas.create_row(Row(schema="orders", fields={"number": 9, "total": "much"}))
    assert memory.schemas.drop("orders", rows=True).records == 2


def test_a_database_that_the_server_follows_is_synced_and_looked_at(
    memory: Client, tmp_path: Path
) -> None:
    shop = sqlite3.connect(tmp_path / "shop.db")
    shop.executescript(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, total REAL); INSERT INTO orders VALUES (1, 9)"
    )
    with Memory.open(tmp_path, tenant="default", embedder="none") as here:
        here.schemas.register_from_discovery(here.schemas.discover(str(tmp_path / "shop.db")))
    assert memory.schemas.sync("shop", dry_run=True).added == 1
    told: list[tuple[int, int]] = []
    synced = memory.schemas.sync("shop", progress=lambda *counts: told.append(counts))
    assert synced.added == 1
    assert told[-1][0] == 1
    assert memory.schemas.sync("shop", progress=None).added == 0
    assert memory.lookup("order-1").records[0].record.fields["total"] == 9
    assert not memory.schemas.drift("shop")
    shop.execute("ALTER TABLE orders ADD COLUMN note TEXT")
    shop.close()
    assert [str(one) for one in memory.schemas.drift("shop").changes] == [
        "orders.note: column added, TEXT"
    ]
    with pytest.raises(InvalidInputError, match="no url of a database"):
        memory.schemas.sync("shop", url="other.db")


@pytest.mark.parametrize("name", plans.PLANS)
def test_a_plan_takes_every_argument_of_its_method(name: str) -> None:
    *nouns, method = name.split(".")
    owner = {"admin": Admin, "profile": Profiles, "schemas": Schemas}[nouns[0]] if nouns else Memory
    taken = inspect.signature(plans.PLANS[name]).parameters
    parameters = [*inspect.signature(getattr(owner, method)).parameters.values()][1:]
    assert [
        one.name for one in parameters if one.name not in taken and one.kind is not one.VAR_KEYWORD
    ] == []


def test_errors_are_those_of_memory(memory: Client) -> None:
    with pytest.raises(NotFoundError, match="nobody"):
        memory.forget("nobody")
    with pytest.raises(UnknownNameError) as unknown:
        memory.sql("SELECT nme FROM entities")
    assert unknown.value.remedy
    with pytest.raises(InvalidInputError, match="count_tokens cannot be given to a server"):
        memory.recall("x", count_tokens=len)
    with pytest.raises(UnknownNameError, match="unknown option 'limt'"):
        memory.recall("x", limt=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        memory.recall()  # type: ignore[call-arg]


def test_files_are_sent_and_read_with_a_reader(memory: Client, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    (folder / "inner").mkdir(parents=True)
    (folder / "ferries.md").write_text(
        "# Ferries\n\nThey leave at noon.\n\n## Prices\n\nNine euros."
    )
    (folder / "inner" / "trains.md").write_text("# Trains\n\nThey leave at one.")
    (folder / ".hidden").write_text("no")
    report = memory.read(folder)
    assert [item.uri for item in report.items] == ["ferries.md", "inner/trains.md"]
    assert [item.status for item in memory.read(folder).items] == ["unchanged", "unchanged"]
    with memory.reader("ferries.md") as reader:
        assert reader.outline().sections[1].path == "Ferries > Prices"
        assert reader.lines(7).text == "Nine euros."
        assert "noon" in reader.find("When do they leave?", words=100)[0].text
    with pytest.raises(NotFoundError, match="no document"):
        memory.reader(str(folder / "ferries.md")).outline()


def test_records_are_iterated_page_by_page(memory: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "PAGE", 3)
    names = {f"entity {number}" for number in range(10)}
    memory.write([Entity(name=name) for name in names])
    memory.write([Resource(name="note", content="x")])
    assert {record.name for record in memory.admin.records("entities")} == names
    assert len(list(memory.admin.records())) == 11


def test_a_memory_is_exported_imported_and_backed_up(memory: Client, tmp_path: Path) -> None:
    (id,) = memory.write([Entity(name="Sarah Chen", type="person")])
    exported = memory.admin.export(tmp_path / "all.jsonl")
    assert exported.records == 1
    with pytest.raises(ConflictError):
        memory.admin.export(tmp_path / "all.jsonl")
    memory.forget(id)
    assert memory.admin.import_(tmp_path / "all.jsonl").created == 1
    with pytest.raises(InvalidInputError):
        memory.admin.import_(io.BytesIO(b"not an export"))
    assert memory.get_entity(id).name == "Sarah Chen"
    memory.admin.backup(tmp_path / "copy")
    assert (tmp_path / "copy" / "memory.db").is_file()


def test_a_profile_is_exported_here_and_taken_in_there(memory: Client, tmp_path: Path) -> None:
    memory.profile.set("location", "Porto")
    (tmp_path / "profile.json").write_text(memory.profile.export())
    memory.profile.forget("location", dry_run=False)
    assert memory.profile.get("location") is None
    (tmp_path / "wrong.json").write_text("{}")
    with pytest.raises(InvalidInputError):
        memory.profile.import_(tmp_path / "wrong.json")
    taken = memory.profile.import_(tmp_path / "profile.json")
    assert taken.evidence == 0, "what was forgotten stays forgotten"


def test_a_reader_tells_what_happens_while_a_model_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real_calls: None
) -> None:
    Home(tmp_path).create("default")
    with endpoint(lambda number, body: failed(400, "too long")) as model:
        monkeypatch.setenv("REMLOOM_LLM_MODEL", "openai:tiny-1")
        monkeypatch.setenv("REMLOOM_LLM_BASE_URL", model.url)
        monkeypatch.setenv("REMLOOM_LLM_API_KEY", "none")
        with (
            served(tmp_path) as (app, key),
            TestClient(app, base_url=URL) as http,
            Client(URL, key=key, http=http) as memory,
        ):
            memory.read_text("The ferry leaves at noon.", uri="ferries.md")
            told: list[ReadEvent] = []
            reader = memory.reader("ferries.md", told=told.append)
            with pytest.raises(ModelError):
                reader.ask("When does it leave?", turns=0)
            assert told[0].type is EventType.SESSION_START
            assert EventType.LLM_REQUEST in {one.type for one in told}
            again: list[ReadEvent] = []
            with pytest.raises(ModelError):
                reader.ask("When does it leave?", turns=0, told=again.append)
            assert len(again) == len(told)


def test_all_moments_are_listed_by_several_requests(
    memory: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "PAGE", 3)
    day = datetime(2026, 3, 2, tzinfo=UTC)
    names = [f"m{number}" for number in range(7)]
    memory.write([Moment(name=name, type="event", starts_at=day) for name in names])
    of_time = memory.get_moments_by_time(day, day + timedelta(days=1))
    assert sorted(moment.name for moment in of_time) == names
    assert sorted(moment.name for moment in memory.get_moments_by_type("event")) == names


def test_progress_is_reported_as_it_comes(memory: Client) -> None:
    with pytest.raises(EmbedderError, match="without an embedder"):
        memory.embed_pending(progress=lambda done, total: None)


def test_labels_with_every_character_are_found(memory: Client) -> None:
    for name in ("a/b", "50% off?", "#1 & more", "ä ö", "..", "x%2Fy"):
        (id,) = memory.write([Entity(name=name, id=f"id {name}")])
        assert memory.get_entity(id).name == name
        assert memory.lookup(name).records[0].id == id


def test_a_client_without_a_key_or_server_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REMLOOM_API_KEY", raising=False)
    with pytest.raises(AuthenticationError, match="wants a key"):
        Client(URL)
    with pytest.raises(InvalidInputError, match="not the address"):
        Client("localhost", key="rlm_x")
    with pytest.raises(InvalidInputError, match=f"give '{URL}'"):
        Client(f"{URL}/v1/", key="rlm_x")
    refused = httpx.MockTransport(_refuse)
    with (
        Client(URL, key="rlm_x", http=httpx.Client(transport=refused)) as client,
        pytest.raises(ServerError, match="no reply from"),
    ):
        client.lookup("a")


def _refuse(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("connection refused", request=request)


def test_a_lost_reply_is_asked_for_again_under_the_same_key() -> None:
    keys: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["idempotency-key"])
        if len(keys) < 3:
            raise httpx.ReadError("reset", request=request)
        return httpx.Response(200, json={"ids": ["id"]})

    http = httpx.Client(transport=httpx.MockTransport(answer))
    with Client(URL, key="rlm_x", http=http) as client:
        assert client.write([Entity(name="a")]) == ["id"]
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_retries_are_told_to_nobody(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    replies = [
        httpx.Response(503, headers={"retry-after": "0"}),
        httpx.Response(200, json={"ids": ["id"]}),
    ]
    http = httpx.Client(transport=httpx.MockTransport(lambda request: replies.pop(0)))
    with Client(URL, key="rlm_x", http=http) as client:
        assert client.write([Entity(name="a")]) == ["id"]
    assert not [record for record in caplog.records if "retry" in record.getMessage()]
    assert tuple(capfd.readouterr()) == ("", "")


def test_tls_to_a_server_of_plain_http_is_told_with_its_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        plain = threading.Thread(target=answer, daemon=True)
        plain.start()
        with (
            Client(f"https://127.0.0.1:{port}", key="rlm_x") as client,
            pytest.raises(ServerError) as told,
        ):
            client.lookup("a")
        plain.join()
    assert f"give 'http://127.0.0.1:{port}'" in told.value.remedy


def test_asyncio_too(tmp_path: Path) -> None:
    Home(tmp_path).create("default")

    async def ask(app: Any, key: str) -> str:
        http = httpx.AsyncClient(transport=httpx.ASGITransport(app, client=("127.0.0.1", 1)))
        async with AsyncClient(URL, key=key, http=http) as memory:
            await memory.write([Entity(name="Sarah Chen")])
            with pytest.raises(NotFoundError):
                await memory.forget("nobody")
            return (await memory.lookup("sarah chen")).records[0].name

    with served(tmp_path) as (app, key):
        assert asyncio.run(ask(app, key)) == "Sarah Chen"
