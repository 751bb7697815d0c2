"""What somebody says replaces or amends a text: found or hidden, marked, undone, and refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from remloom import Entity, Memory, Moment, Resource, Row
from remloom.errors import (
    AmbiguousLabelError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    RemloomError,
)
from remloom.model import Field, SchemaDefinition
from remloom.model.records import short_id
from remloom.model.supersession import amended_of, superseded_of
from remloom.operations import Operation
from remloom.operations.tools.lookup import LOOKUP, SHOW
from remloom.operations.tools.remember import REMEMBER
from remloom.operations.tools.stale import CONFIRM, REFRESH
from remloom.store.premises import find_stale

MAY = datetime(2026, 5, 1, tzinfo=UTC)
OSLO = Resource(id="oslo", name="home", content="Ann lives in Oslo.")
BANK = Resource(id="bank", name="bank", content="Ann needs a bank in Norway.", parents=("oslo",))
PLAN = Resource(id="plan", name="plan", content="Ann asks three banks.", parents=("bank",))
ROME = Resource(id="rome", name="new home", content="Ann lives in Rome.", replaces="oslo")


def found(memory: Memory, text: str = "Ann lives") -> list[str]:
    """The ids of the texts that a search finds."""
    hits = memory.search_text(text).records
    return [hit.id for hit in hits if hit.schema == "resources"]


def stale(memory: Memory, *ids: str) -> dict[str, tuple[str, str]]:
    known = find_stale(memory.admin.store.records, ids or ("bank", "plan"))
    return {id: (one.reason, one.by) for id, one in known.items()}


def write(memory: Memory, *texts: Resource) -> None:
    """Write texts one after another: each may replace one before."""
    for text in texts:
        memory.write([text])


def test_what_is_replaced_is_found_no_more_and_kept(memory: Memory) -> None:
    write(memory, OSLO, BANK, PLAN, replace(ROME, since=MAY))
    assert set(found(memory)) == {"rome", "plan", "bank"}
    assert found(memory, "Oslo") == []
    old = superseded_of(memory.get_resource("oslo"))
    assert old is not None
    assert (old.by, old.reason, old.since, old.content) == ("rome", "changed", MAY, OSLO.content)
    assert memory.get_resource("oslo").content == ""
    new = memory.get_resource("rome")
    assert (new.replaces, new.reason, new.since) == ("", "", None)
    assert memory.admin.check() == []


def test_what_was_made_of_the_old_text_is_stale_until_that_is_brought_back(memory: Memory) -> None:
    write(memory, OSLO, BANK, PLAN, ROME)
    assert stale(memory) == {"bank": ("replaced", "rome"), "plan": ("below", "rome")}
    write(memory, Resource(id="bern", content="Ann lives in Bern.", replaces="rome"))
    # an agent is led to what holds now
    assert stale(memory, "bank") == {"bank": ("replaced", "bern")}
    back = memory.unreplace("oslo")
    assert (back.content, back.metadata) == (OSLO.content, {})
    assert stale(memory) == {}
    assert set(found(memory)) == {"oslo", "bern", "bank", "plan"}
    assert superseded_of(memory.get_resource("rome")) is not None
    assert memory.admin.check() == []


def test_the_mark_is_dated_since_when_it_no_longer_holds(memory: Memory) -> None:
    write(memory, OSLO, BANK, PLAN, replace(ROME, since=MAY))
    found = find_stale(memory.admin.store.records, ("bank", "plan"))
    assert [one.at for one in found.values()] == [MAY, MAY]
    hit = next(hit for hit in memory.lookup("bank").records if hit.id == "bank")
    assert str(hit.stale) == "home was replaced by rome, with effect from 2026-05-01"
    # what touches the older text later does not move it, nor does what replaces the newer one
    write(memory, Resource(id="bern", content="Ann lives in Bern.", replaces="rome"))
    assert find_stale(memory.admin.store.records, ("bank",))["bank"].at == MAY
    memory.unreplace("oslo")
    write(memory, Resource(id="more", content="In the centre.", amends="oslo"))
    amended = find_stale(memory.admin.store.records, ("bank",))["bank"]
    assert amended.at == amended_of(memory.get_resource("oslo")).at  # type: ignore[union-attr]


def test_who_did_not_get_the_answer_may_say_it_again(memory: Memory) -> None:
    write(memory, OSLO, BANK, ROME)
    first = superseded_of(memory.get_resource("oslo"))
    assert memory.write([ROME]) == ["rome"]
    assert superseded_of(memory.get_resource("oslo")) == first
    assert memory.history("rome").chain[0].by == "rome"
    with pytest.raises(ConflictError):
        memory.write([replace(ROME, reason="wrong")])


def test_the_chain_is_told_in_order_from_any_of_it(memory: Memory) -> None:
    write(
        memory,
        OSLO,
        replace(ROME, reason="wrong"),
        Resource(id="bern", content="Ann lives in Bern.", replaces="rome", since=MAY),
        Resource(id="only", content="Until June only.", amends="bern"),
    )
    for id in ("oslo", "rome", "bern", "only"):
        chain = memory.history(id).chain
        assert [(one.id, one.by, one.reason, one.amends) for one in chain] == [
            ("oslo", "rome", "wrong", ""),
            ("rome", "bern", "changed", ""),
            ("bern", "", "", ""),
            ("only", "", "", "bern"),
        ]
        assert [one.content for one in chain][:2] == [OSLO.content, ROME.content]
        assert (chain[1].since, chain[2].amended_by) == (MAY, ["only"])
    memory.unreplace("bern")
    assert memory.history("only").chain == []


def test_an_amendment_leaves_the_old_text_found_and_marks_it(memory: Memory) -> None:
    write(memory, OSLO, BANK)
    write(memory, Resource(id="till", content="Ann lives there until May.", amends="oslo"))
    assert set(found(memory)) == {"oslo", "bank", "till"}
    assert stale(memory, "bank") == {"bank": ("amended", "till")}
    write(memory, Resource(id="june", content="Ann lives there until June.", amends="oslo"))
    mark = amended_of(memory.get_resource("oslo"))
    assert mark is not None
    assert (mark.by, mark.earlier) == ("june", ("till",))
    memory.forget("june")
    mark = amended_of(memory.get_resource("oslo"))
    assert mark is not None
    assert (mark.by, mark.earlier) == ("till", ())
    memory.unreplace("oslo")
    assert (amended_of(memory.get_resource("oslo")), stale(memory)) == (None, {})


def test_of_many_amendments_the_newest_are_named_and_the_others_stay_known(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remloom.engine.superseding.EARLIER", 2)
    write(memory, OSLO)
    for number in range(1, 6):
        text = f"Ann lives there until day {number}."
        write(memory, Resource(id=f"day{number}", content=text, amends="oslo"))
    mark = amended_of(memory.get_resource("oslo"))
    assert mark is not None
    assert (mark.by, mark.earlier) == ("day5", ("day3", "day4"))
    memory.forget("day3", "day4", "day5")
    mark = amended_of(memory.get_resource("oslo"))
    assert mark is not None
    assert (mark.by, mark.earlier) == ("day2", ("day1",))


def test_what_forgetting_leaves(memory: Memory) -> None:
    write(memory, OSLO, ROME)
    memory.forget("rome")
    # nobody said that the old text holds again
    assert found(memory, "Oslo") == []
    memory.unreplace("oslo")
    assert found(memory, "Oslo") == ["oslo"]
    write(memory, ROME)
    memory.forget("oslo")
    assert "Oslo" not in str(list(memory.admin.records()))
    assert found(memory) == ["rome"]


def test_the_beginning_of_an_id_will_do_if_no_other_has_it(memory: Memory) -> None:
    ids = [f"01234567-89{end}-4cde-8f01-23456789abcd" for end in ("89", "00")]
    write(memory, *(Resource(id=id, content=f"It is {id}.") for id in ids))
    new = Resource(content="It is not.", replaces="01234567")
    with pytest.raises(AmbiguousLabelError, match="01234567-8989"):
        memory.write([new])
    with pytest.raises(NotFoundError, match="first 8 characters"):
        memory.write([replace(new, replaces="0123456")])
    write(memory, replace(new, replaces="01234567-898"))
    assert superseded_of(memory.get_resource(ids[0]))


def test_what_replaces_nothing_is_refused_and_nothing_is_written(memory: Memory) -> None:
    tickets = SchemaDefinition(
        schema_name="tickets", version=1, base_fields={"title": Field(kind="string")}
    )
    memory.schemas.register(tickets)
    write(memory, OSLO, ROME)
    memory.write([
        Entity(id="ann", name="Ann"),
        Moment(id="day", name="day"),
        Row(schema="tickets", id="t1", handle="ticket-1", name="T", uri="shop/tickets"),
    ])  # fmt: skip
    write(memory, Resource(id="till", content="Until May.", amends="rome"))
    new = Resource(id="new", content="Ann lives in Bern.")
    hour = timedelta(hours=1)
    cases: dict[str, tuple[type[RemloomError], Any]] = {
        "no record has the id": (NotFoundError, replace(new, replaces="nobody")),
        "replace itself": (InvalidInputError, replace(new, id="rome", replaces="rome")),
        "replaced before, by rome": (ConflictError, replace(new, replaces="oslo")),
        "was replaced by rome": (ConflictError, replace(OSLO, replaces="rome")),
        "replaces or amends rome itself": (ConflictError, replace(new, id="rome", amends="till")),
        "update_entity": (InvalidInputError, replace(new, replaces="ann")),
        "write it again by its id": (InvalidInputError, replace(new, replaces="day")),
        "in shop and sync": (InvalidInputError, replace(new, replaces="t1")),
        "`replaces` or `amends`": (InvalidInputError, replace(new, replaces="rome", amends="rome")),
        "changed, wrong": (RemloomError, replace(new, replaces="rome", reason="old")),
        "`reason` is of": (InvalidInputError, replace(new, reason="wrong")),
        "`since` is of": (InvalidInputError, replace(new, amends="rome", since=MAY)),
        "time zone": (InvalidInputError, replace(new, replaces="rome", since=datetime(2026, 1, 1))),
        "still to come": (
            InvalidInputError,
            replace(new, replaces="rome", since=datetime.now(UTC) + hour),
        ),
        "never held": (
            InvalidInputError,
            replace(new, replaces="rome", reason="wrong", since=MAY),
        ),
        "replaces is a text": (InvalidInputError, replace(new, replaces=7)),
    }
    before = list(memory.admin.records())
    for says, (error, text) in cases.items():
        with pytest.raises(error, match=says):
            memory.write([Resource(id="other", content="Also."), text])
    for says, texts in {
        "replaced twice": (replace(new, replaces="rome"), replace(ROME, id="x", replaces="rome")),
        "is written in this batch": (replace(new, replaces="till"), replace(new, id="till")),
    }.items():
        with pytest.raises(InvalidInputError, match=says):
            memory.write(texts)
    with pytest.raises(ConflictError, match="nothing was said to replace"):
        memory.unreplace("till")
    assert list(memory.admin.records()) == before


def test_a_text_of_another_tenant_is_not_there(memory: Memory, tmp_path: Path) -> None:
    write(memory, OSLO)
    with Memory.open(tmp_path / "other", tenant="other", embedder="none") as other:
        with pytest.raises(NotFoundError):
            other.write([ROME])
        assert list(other.admin.records()) == []
    assert found(memory, "Oslo") == ["oslo"]


def test_a_file_that_is_read_again_brings_nothing_back(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    river = "\n\n".join(f"River {n} flows by the weir, the mill and the bridge." for n in range(80))
    file.write_text(f"# Home\n\nAnn lives in Oslo.\n\n{river}\n")
    memory.read(file)
    [home] = [r.id for r in memory.admin.records("resources") if "Oslo" in r.content]
    write(memory, Resource(id="rome", content="Ann lives in Rome.", replaces=home))
    memory.read(file)
    file.write_text(f"\n{file.read_text()}\nShe likes it.\n")
    memory.read(file)
    assert found(memory, "Oslo") == []
    assert found(memory, "likes it") != []
    assert "Ann lives in Oslo." in memory.unreplace(home).content


def test_a_turn_that_was_wrong_stays_hidden_when_the_chat_goes_on(memory: Memory) -> None:
    from remloom import Message

    turns = [Message(speaker="Ann", text=f"Turn {n} of the talk.", id=f"m{n}") for n in range(3)]
    ids = memory.read_chat(turns, uri="chat:1").ids
    write(memory, Resource(id="new", content="Not said.", replaces=ids[1], reason="wrong"))
    more = Message(speaker="Bob", text="And more of it.", id="m3")
    memory.read_chat([more], uri="chat:1", append=True)
    memory.read_chat([*turns, more, replace(more, id="m4", text="The end.")], uri="chat:1")
    assert ids[1] not in found(memory, "Turn talk")
    assert memory.unreplace(ids[1]).content == "Turn 1 of the talk."
    assert ids[1] in found(memory, "Turn talk")


def test_it_comes_along_in_an_export_and_a_backup(memory: Memory, tmp_path: Path) -> None:
    write(memory, OSLO, BANK, replace(ROME, since=MAY))
    with (tmp_path / "all.jsonl").open("wb") as stream:
        memory.admin.export(stream)
    with Memory.open(tmp_path / "other", tenant="other", embedder="none") as other:
        with (tmp_path / "all.jsonl").open("rb") as stream:
            other.admin.import_(stream)
        with (tmp_path / "all.jsonl").open("rb") as stream:
            assert other.admin.import_(stream).unchanged == 3
        assert superseded_of(other.get_resource("oslo")) == superseded_of(
            memory.get_resource("oslo")
        )
        assert stale(other, "bank") == {"bank": ("replaced", "rome")}
        assert other.unreplace("oslo").content == OSLO.content


def test_a_record_that_was_read_before_can_be_written_back(memory: Memory) -> None:
    write(memory, OSLO)
    before = memory.get_resource("oslo")
    write(memory, ROME)
    with pytest.raises(ConflictError, match="unreplace"):
        memory.write([replace(before, metadata={"seen": True})])
    hidden = memory.get_resource("oslo")
    memory.write([replace(hidden, metadata={**hidden.metadata, "seen": True})])
    assert found(memory, "Oslo") == []
    assert memory.unreplace("oslo").metadata == {"seen": True}
    assert memory.get_resource("oslo").content_hash == before.content_hash


def tool(memory: Memory, **arguments: Any) -> Any:
    return REMEMBER.does(memory, REMEMBER.takes(**arguments), None)


def test_an_agent_says_what_replaces_what(memory: Memory) -> None:
    [old] = tool(memory, text="Ann lives in Oslo.").ids
    [new] = tool(memory, text="Ann lives in Rome.", replaces=old[:8], since="2026-05-01").ids
    assert found(memory) == [new]
    shown = SHOW.does(memory, SHOW.takes(what=old), None)
    assert shown.records[0].facts["was"] == "Ann lives in Oslo."
    assert shown.records[0].facts["replaced_by"] == new
    # what is remembered already can replace another, and what was replaced is not said anew
    [bern] = tool(memory, text="Ann lives in Bern.").ids
    assert tool(memory, text="Ann lives in Bern.", replaces=new, reason="wrong").ids == [bern]
    assert found(memory) == [bern]
    with pytest.raises(ConflictError, match="unreplace"):
        tool(memory, text="Ann lives in Oslo.")
    with pytest.raises(InvalidInputError, match="as a text"):
        tool(memory, messages=[{"speaker": "Ann", "text": "No."}], replaces=bern)


def use(memory: Memory, tool: Operation, **arguments: object) -> str:
    """The text that an agent reads of a tool's value."""
    value = tool.does(memory, msgspec.convert(arguments, tool.takes), None)
    return tool.text(value) if tool.text else ""


def test_an_agent_says_that_something_holds_all_the_same(memory: Memory) -> None:
    (lead,) = memory.write([Resource(content="Seoyun leads Orion.")])
    texts = [Resource(content=f"Rule {n} of the lead.", rests_on=(lead,)) for n in range(2)]
    one, two = memory.write(texts)
    told = use(memory, REMEMBER, text="Jihoon leads Orion.", replaces=lead[:8])
    assert "2 things rest on what you replaced, and may not hold any more:\n" in told
    assert f"> {short_id(one)} Rule 0 of the lead." in told
    assert "may not hold any more" in use(memory, LOOKUP, labels=[one])
    assert use(memory, REFRESH, dry_run=True).count("yours: replace or confirm it") == 2
    held = use(memory, CONFIRM, what=[one, two[:13]])
    assert held.splitlines()[1:] == [
        f"> {short_id(id)} {memory.get_resource(id).name}" for id in (one, two)
    ]
    assert use(memory, REFRESH) == "All holds that is remembered."
    # what is not known, or rests on nothing, leaves all as it was
    for wrong, error in (("0" * 8, NotFoundError), (memory.write([OSLO])[0], InvalidInputError)):
        with pytest.raises(error):
            use(memory, CONFIRM, what=[lead, wrong])
    assert memory.get_resource(lead).content == ""
    assert "Holds again" in use(memory, CONFIRM, what=[lead])
    assert memory.get_resource(lead).content == "Seoyun leads Orion."
    use(memory, REMEMBER, text="Since May.", amends=lead)
    assert "amended_by" in use(memory, LOOKUP, labels=[lead])
    use(memory, CONFIRM, what=[lead])
    assert "amended_by" not in use(memory, LOOKUP, labels=[lead])


def test_the_history_of_an_entity_is_shown(memory: Memory) -> None:
    team = memory.create_entity(Entity(name="Orion", type="team", properties={"lead": "Seoyun"}))
    memory.update_entity(team, {"lead": "Jihoon"})
    assert "lead: Seoyun -> Jihoon" in use(memory, SHOW, what=team[:13])


def test_recall_gives_what_holds_and_an_amendment_before_what_it_amends(memory: Memory) -> None:
    [old] = tool(memory, text="Ann lives in Oslo.").ids
    [new] = tool(memory, text="Ann lives in Rome.", replaces=old).ids
    assert [hit.id for hit in memory.recall("Does Ann live in Oslo?").hits] == [new]
    # nor the moment that reading made of it
    assert not memory.search_text("Oslo").records
    [more] = tool(memory, text="She leaves again in June.", amends=new).ids
    hits = memory.recall("Where does Ann live?").hits
    assert [hit.id for hit in hits] == [more, new]
    assert f"amends {new}" in [reason.note for reason in hits[0].reasons]
    memory.unreplace(old)
    assert {hit.id for hit in memory.recall("Does Ann live in Oslo?").hits} >= {old, new}
    assert "moments" in {hit.schema for hit in memory.search_text("Oslo").records}
    assert memory.admin.check() == []
