"""Operations that are no methods of `Memory`: pages of records, files that are sent, jobs."""

import base64
from datetime import UTC, datetime, timedelta
from io import BytesIO

import msgspec
import pytest

from remloom import Entity, Memory, Moment, Resource
from remloom.errors import InvalidInputError, NotFoundError, QuerySyntaxError
from remloom.operations import OPERATIONS


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        yield memory


def do(name, memory, carried=None, **values):
    operation = next(one for one in OPERATIONS if one.name == name)
    taken = msgspec.convert(values, operation.takes, strict=False)
    return operation.does(memory, taken, carried)


@pytest.mark.parametrize("limit", [1, 3, 5, 8, 9])
def test_pages_have_every_record_once(memory, limit):
    ids = memory.write(
        [*(Entity(name=f"n{i}", type="t") for i in range(5)),
         *(Resource(content=f"text {i}", uri=f"u{i}") for i in range(3))]
    )  # fmt: skip
    seen, cursor = [], ""
    while True:
        page = do("list_records", memory, cursor=cursor, limit=limit)
        seen += [record.id for record in page.records]
        assert len(page.records) <= limit
        cursor = page.cursor
        if not cursor:
            break
        assert page.records
    assert sorted(seen) == sorted(ids)
    assert len(do("list_records", memory, schema="entities").records) == 5


@pytest.mark.parametrize("cursor", ["x", "é", "bm9wZQ", base64.b64encode(b"edges 1").decode()])
def test_what_is_no_cursor_is_refused(memory, cursor):
    with pytest.raises(InvalidInputError, match="no cursor"):
        do("list_records", memory, cursor=cursor)


def test_records_are_asked_for_by_a_condition(memory):
    memory.write([Resource(content=f"t {i}", uri=f"u{i}", ordinal=i) for i in range(5)])
    found = do(
        "query_records",
        memory,
        schema="resources",
        where="ordinal > 1",
        order=[["ordinal", "desc"]],
        limit=2,
        offset=1,
    )
    assert [one.ordinal for one in found] == [3, 2]
    with pytest.raises(QuerySyntaxError):
        do("query_records", memory, schema="resources", where="ordinal >")


def test_a_record_is_got_whatever_its_schema(memory):
    resource, entity = memory.write([Resource(content="x", uri="u"), Entity(name="a", type="t")])
    assert do("get_record", memory, id=resource).content == "x"
    assert do("get_record", memory, id=entity).name == "a"
    with pytest.raises(NotFoundError):
        do("get_record", memory, id="none")


def upload(name, text):
    return {"name": name, "content": base64.b64encode(text.encode()).decode()}


def test_a_file_that_is_sent_is_known_by_its_name_and_replaced_under_it(memory, tmp_path):
    files = [upload("notes/a.md", "# Rain\n\nIt rained."), upload("b.txt", "Sun.")]
    report = do("read_documents", memory, files=files)
    assert [item.uri for item in report.items] == ["notes/a.md", "b.txt"]
    assert len(report.ids) == report.resources
    again = do("read_documents", memory, files=[upload("b.txt", "Snow.")])
    assert again.resources == 1
    texts = [one.content for one in memory.admin.records("resources")]
    assert "Snow." in texts
    assert "Sun." not in texts
    assert not any(str(one.uri).startswith("/") for one in memory.admin.records("resources"))


@pytest.mark.parametrize(
    "name", ["../a.txt", "/etc/passwd", "a//b", "a\\b", "a/..", "x\x07", ".", "漢" * 90]
)
def test_what_is_no_file_name_is_refused_before_anything_is_read(memory, name):
    with pytest.raises(InvalidInputError, match="no file name"):
        do("read_documents", memory, files=[upload("ok.txt", "Fine."), upload(name, "No.")])
    assert list(memory.admin.records()) == []


def test_bounds_of_their_own_hold(memory):
    for name, values in {
        "read_documents": {"files": []},
        "query_records": {"schema": "entities", "offset": -1},
        "reader_find": {"documents": [], "question": "x"},
    }.items():
        with pytest.raises(msgspec.ValidationError):
            do(name, memory, **values)


def test_a_file_that_cannot_be_read_is_in_the_report(memory):
    report = do("read_documents", memory, files=[upload("a.pdf", "no pdf"), upload("b.txt", "Yes")])
    assert [item.status for item in report.items] == ["failed", "read"]
    assert "/tmp" not in str(report)


def test_paths_of_the_server_are_read_below_its_roots_only(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "a.txt").write_text("Open.")
    (tmp_path / "secret.txt").write_text("Secret.")
    (tmp_path / "open" / "link.txt").symlink_to(tmp_path / "secret.txt")
    from remloom.settings import Settings

    settings = Settings.load(
        home=str(tmp_path / "home"), embedder="none", serve_read_roots=str(tmp_path / "open")
    )
    with Memory.open(settings=settings) as memory:
        assert do("read_path", memory, path=str(tmp_path / "open" / "a.txt")).resources == 1
        for path in ("secret.txt", "open/link.txt", "open/../secret.txt"):
            with pytest.raises(InvalidInputError, match="does not read that path"):
                do("read_path", memory, path=str(tmp_path / path))
            with pytest.raises(InvalidInputError, match="does not read that path"):
                do("add_job", memory, kind="read", payload={"source": str(tmp_path / path)})
        with pytest.raises(InvalidInputError, match="does not read that path"):
            do("add_job", memory, kind="read", payload={"source": f"{tmp_path}/open/a\0.txt"})
        with pytest.raises(InvalidInputError, match="server's to choose"):
            do("add_job", memory, kind="reembed", payload={"embedder": "none"})
        job = do("add_job", memory, kind="affinity")
        assert do("get_job", memory, id=job.id) == job
    bare = Memory.open(tmp_path / "home", embedder="none")
    with bare as memory, pytest.raises(InvalidInputError):
        do("read_path", memory, path=str(tmp_path / "open" / "a.txt"))


def test_an_export_goes_into_another_memory(memory, tmp_path):
    memory.write([Entity(name="Sarah Chen", type="person")])
    stream = BytesIO()
    do("export", memory, stream)
    with Memory.open(tmp_path / "other", embedder="none") as other:
        do("import", other, BytesIO(stream.getvalue()))
        assert other.lookup("sarah chen").records
        with pytest.raises(InvalidInputError):
            do("import", other, BytesIO(stream.getvalue()[:-20]))


def test_documents_are_read_by_name_and_never_by_path(memory, tmp_path):
    (tmp_path / "a.txt").write_text("Secret.")
    do("read_documents", memory, files=[upload("rain.md", "# Rain\n\nIt rained in Riga.")])
    found = do("reader_find", memory, documents=["rain.md"], question="Where did it rain?")
    assert "Riga" in found[0].text
    assert do("reader_outline", memory, documents=["rain.md"]).sections[0].title == "Rain"
    with pytest.raises(NotFoundError):
        do("reader_lines", memory, documents=[str(tmp_path / "a.txt")], first=1)
    assert do("reader_sessions", memory) == []


def test_moments_are_listed_by_parts(memory):
    day = datetime(2026, 3, 2, tzinfo=UTC)
    memory.write(
        [Moment(name=f"m{i}", type="event", starts_at=day + timedelta(hours=i)) for i in range(5)]
    )
    window = {"start": day, "end": day + timedelta(days=1)}
    for name, given in (
        ("get_moments_by_time", window),
        ("get_moments_by_type", {"type": "event"}),
    ):
        parts = [do(name, memory, **given, limit=2, offset=offset) for offset in (0, 2, 4)]
        assert [[one.name for one in part] for part in parts] == [
            ["m0", "m1"],
            ["m2", "m3"],
            ["m4"],
        ]
        assert len(do(name, memory, **given)) == 5
