"""A text mentions what the memory knows, in whichever order the two came."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remloom import Edge, Entity, Memory, Message, Moment, Resource, labels
from remloom.errors import EmbedderError, StoreError
from remloom.ingest.linking import Linker
from remloom.store.rules.merge import keys_of

Open = Callable[[], Memory]


@pytest.fixture(params=["sqlite", "postgres"], scope="module")
def new_memory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Open:
    sqlite = request.param == "sqlite"
    home = str(tmp_path_factory.mktemp("linked")) if sqlite else request.getfixturevalue("postgres")
    return lambda: Memory.open(home, tenant=f"linked-{uuid4().hex[:8]}", embedder="none")


@pytest.fixture
def memory(new_memory: Open) -> Iterator[Memory]:
    with new_memory() as memory:
        yield memory


def _mentions(memory: Memory) -> dict[str, set[str]]:
    """What each text mentions: the labels of the entities that edges lead to."""
    found: dict[str, set[str]] = {}
    for resource in memory.admin.records("resources"):
        edges = memory.get_edges(resource.name, direction="out")
        found[resource.name] = {edge.dst for edge in edges if edge.rel_type == "mentions"}
    return found


def _reached(memory: Memory, text: str) -> set[str]:
    """What one reaches who follows the mentions of a text."""
    nodes = memory.query(f'TRAVERSE mentions WITH LOOKUP "{text}"').nodes
    return {node.record.name for node in nodes if node.depth == 1}


@pytest.mark.parametrize(
    ("entity", "text", "is_named"),
    [
        (Entity(type="organization", name="acme"), "yesterday we had a call with acme.", True),
        (Entity(type="organization", name="acme"), "acmes are acme-like, see `acme`", False),
        (Entity(name="Globex Corp", aliases=("the old factory",)), "to the old factory", True),
        (Entity(type="concept", name="price per seat"), "settle the price per\nseat", True),
        (Entity(type="concept", name="price per seat"), "the price, per seat, is high", False),
        (Entity(type="product", name="Product-A"), "the release of product a is near", True),
        (Entity(type="company", name="Target"), "our target is near", False),
        (Entity(type="company", name="Orange"), "we peeled an orange", False),
        (Entity(type="person", name="Noor"), "a noor of light is not a name", False),
        (Entity(type="place", name="Gouda"), "they ate gouda", False),
        (Entity(type="concept", name="株式会社テスト"), "昨日 株式会社テスト に行った", True),
        (Entity(type="concept", name="größe"), "die größe zählt", True),
    ],
)
def test_a_text_that_was_read_before_mentions_what_one_read_later_would(
    memory: Memory, entity: Entity, text: str, is_named: bool
) -> None:
    memory.read_text(text, uri="before.txt", name="before")
    memory.write([entity])
    memory.admin.optimize()
    memory.read_text(f"{text} ", uri="after.txt", name="after")
    found = _mentions(memory)
    assert found["before"] == found["after"]
    assert bool(found["before"]) == is_named


def test_a_row_of_ways_to_know_a_name_later_links_the_text(memory: Memory) -> None:
    memory.read_text("the zephyr is slow and so is the mistral, said quux", uri="n.txt", name="n")
    memory.write([Entity(id="m", type="product", name="Mistral Engine")])
    memory.admin.optimize()
    assert _mentions(memory)["n"] == set()
    memory.write([Entity(type="product", name="Mistral Engine", aliases=("mistral",))])
    memory.admin.optimize()
    assert _mentions(memory)["n"] == {"mistral-engine"}
    memory.write([Edge(src="zephyr", rel_type="needs", dst="Mistral Engine")])
    memory.admin.optimize()
    assert _mentions(memory)["n"] == {"mistral-engine", "zephyr"}
    memory.update_entity("m", aliases=["mistral", "quux"])
    memory.admin.optimize()
    assert _reached(memory, "n") == {"Mistral Engine", "zephyr"}


def test_a_turn_of_a_chat_is_linked_but_not_to_who_says_it(memory: Memory) -> None:
    turns = [
        Message(speaker="ida", text="is acme late again?", id="1"),
        Message(speaker="Tom", text="ida, it is", id="2"),
    ]
    memory.read_chat(turns, uri="chat", name="chat")
    memory.write([Entity(type="organization", name="acme"), Entity(type="agent", name="ida")])
    memory.admin.optimize()
    assert "acme" in _mentions(memory)["chat #1"]
    assert "ida" not in _mentions(memory)["chat #1"]


def test_what_was_written_and_not_read_gets_no_edges(memory: Memory) -> None:
    memory.write([Resource(name="own", content="a call with acme", uri="own.txt")])
    memory.write([Entity(type="organization", name="acme")])
    memory.admin.optimize()
    assert _mentions(memory)["own"] == set()


@pytest.mark.parametrize("header", [[1, 1], [1], ["a", "b"], {"a": 1}, "a,b", 3, None])
def test_a_table_with_whatever_metadata_keeps_no_entity_from_being_written(
    memory: Memory, header: object
) -> None:
    part = Resource(
        name="part",
        content="customer\nacme",
        uri="own.csv",
        ordinal=1,
        category="table",
        metadata={"title": "own", "header": header},
    )
    memory.write([part])
    memory.write([Entity(type="organization", name="acme")])
    memory.admin.optimize()
    assert _mentions(memory)["part"] == {"acme"}
    assert memory.admin.stats().unlinked == 0


def test_entities_wait_and_are_counted(memory: Memory) -> None:
    memory.read_text("gadget number 7 broke, and so did gadget number 99", uri="g.txt", name="g")
    memory.write([Entity(type="product", name=f"gadget number {n}") for n in range(100)])
    assert memory.admin.stats().unlinked == 100
    assert _mentions(memory)["g"] == set()
    memory.admin.optimize()
    assert memory.admin.stats().unlinked == 0
    assert _mentions(memory)["g"] == {"gadget-number-7", "gadget-number-99"}


@pytest.mark.parametrize(
    ("shorter", "longer", "text"),
    [
        (Entity(name="acme"), Entity(name="Acme Tower"), "We saw acme tower there."),
        (Entity(name="kessler"), Entity(name="Acme Kessler"), "We saw acme kessler there."),
        (Entity(name="quill works"), Entity(name="The Old Quill Works"), "At the old quill works."),
        (Entity(name="weir"), Entity(name="lock", aliases=("the weir gate",)), "The weir gate shut."),
        (
            Entity(name="Zander", type="thing", aliases=("the gate",)),
            Entity(name="Anchor", type="thing", aliases=("the gate",)),
            "We shut the gate then.",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 1, 0)])
def test_what_a_text_names_besides_is_linked_when_a_longer_name_is_forgotten(
    memory: Memory, shorter: Entity, longer: Entity, text: str, order: Sequence[int]
) -> None:
    ids: dict[int, str] = {}
    for step in order:
        if step:
            ids[step] = memory.write([(shorter, longer)[step - 1]])[0]
        else:
            memory.read_text(text, uri="t.txt", name="text")
        memory.admin.optimize()
    assert _reached(memory, "text") == {longer.name}
    memory.forget(ids[2])
    memory.admin.optimize()
    assert _reached(memory, "text") == {shorter.name}


def test_what_was_forgotten_is_linked_to_nothing(memory: Memory) -> None:
    memory.read_text("a call with acme", uri="a.txt", name="a")
    memory.read_text("a call with umbra", uri="b.txt", name="b")
    names = ["acme", "umbra", *(f"filler {n}" for n in range(80))]
    memory.write([Entity(type="organization", name=name) for name in names])
    memory.forget("acme")
    memory.forget("b.txt")
    memory.admin.optimize()
    assert _mentions(memory) == {"a": set()}
    assert memory.lookup("acme").records == []


def test_what_is_forgotten_while_it_is_linked_does_not_come_back(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.read_text("a call with acme and umbra", uri="a.txt", name="a")
    fillers = [Entity(type="thing", name=f"filler {n}") for n in range(80)]
    memory.write([*fillers, Entity(name="acme"), Entity(name="umbra")])
    whole = Linker._named

    def forget_first(self: Linker, *arguments: object) -> object:
        found = whole(self, *arguments)  # type: ignore[arg-type]
        if memory.lookup("acme").records:
            memory.forget("acme")
        return found

    monkeypatch.setattr(Linker, "_named", forget_first)
    memory.admin.optimize()
    assert _mentions(memory)["a"] == {"umbra"}
    assert memory.lookup("acme").records == []


def test_what_has_expired_is_linked_to_nothing(memory: Memory) -> None:
    memory.read_text("a call with acme", uri="a.txt", name="a")
    memory.read_text("a call with umbra", uri="b.txt", name="b")
    ids = memory.write([Entity(name="acme"), Entity(name="umbra")])
    (text,) = (text.id for text in memory.admin.records("resources") if text.name == "b")
    memory.admin.set_expiry([ids[0], text], datetime(2020, 1, 1, tzinfo=UTC))
    memory.admin.optimize()
    assert _mentions(memory) == {"a": set()}
    assert memory.lookup("acme").records == []


def test_linking_that_was_broken_off_goes_on_and_makes_no_edge_twice(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"gadget number {n}" for n in range(200)]
    memory.read_text(" ".join(f"The {name} broke." for name in names), uri="g.txt", name="g")
    memory.write([Entity(name=name) for name in names])
    whole, calls = Linker._link_texts, iter(range(9))

    def fail_later(self: Linker, naming: object) -> None:
        if next(calls):
            raise StoreError("the power is cut")
        whole(self, naming)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(Linker, "_link_texts", fail_later)
        with pytest.raises(StoreError):
            memory.admin.optimize()
    assert 0 < sum(map(len, _mentions(memory).values())) < 200
    assert 0 < memory.admin.stats().unlinked < 200
    for _ in range(2):
        memory.admin.optimize()
        edges = [
            edge.key
            for text in _mentions(memory)
            for edge in memory.get_edges(text, direction="out")
            if edge.rel_type == "mentions"
        ]
        assert len(edges) == len(set(edges))
        assert {to for *_, to in edges} == {labels.key(name) for name in names}


def test_a_name_that_too_many_texts_say_is_a_word(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remloom.ingest.linking.MOST_NAMESAKES", 3)
    for n in range(4):
        memory.read_text(f"widget {n} and the flange", uri=f"{n}.txt", name=f"t{n}")
    memory.read_text("a flange and a sprocket", uri="s.txt", name="s")
    memory.write([Entity(type="part", name="flange"), Entity(type="part", name="sprocket")])
    memory.admin.optimize()
    found = _mentions(memory)
    assert found["s"] == {"sprocket"}
    assert not any(found[f"t{n}"] for n in range(4))


def _embed_pending(memory: Memory) -> None:
    with suppress(EmbedderError):  # there is none
        memory.embed_pending()


def _work_off_job(memory: Memory) -> None:
    memory.jobs.add("optimize")
    assert memory.jobs.work(until_idle=True, kinds=["optimize"]) == 1


@pytest.mark.parametrize(
    "keep_up",
    [
        lambda memory: memory.admin.optimize(),
        _embed_pending,
        lambda memory: memory.jobs.work(until_idle=True),
        _work_off_job,
    ],
    ids=["optimize", "embed_pending", "idle worker", "job"],
)
def test_reading_and_writing_leave_it_to_upkeep(
    memory: Memory, keep_up: Callable[[Memory], object]
) -> None:
    memory.read_text("a call with acme and with kessler", uri="a.txt", name="a")
    memory.write([Entity(type="organization", name="acme")])
    memory.read_text("Quill Works builds gates.", uri="b.txt", name="b")
    assert _mentions(memory)["a"] == set()
    assert memory.admin.stats().unlinked >= 2
    keep_up(memory)
    assert _mentions(memory)["a"] == {"acme"}
    assert memory.admin.stats().unlinked == 0


def test_what_cannot_be_linked_waits_and_is_logged(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memory.read_text("a call with acme", uri="a.txt", name="a")
    memory.write([Entity(type="organization", name="acme")])

    def fail(self: Linker, naming: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Linker, "_link_texts", fail)
        memory.jobs.work(until_idle=True)
        assert "the disk is full" in caplog.text
        with pytest.raises(StoreError):
            memory.admin.optimize()
        assert memory.admin.stats().unlinked == 1
    memory.admin.optimize()
    assert _mentions(memory)["a"] == {"acme"}


def test_entities_are_counted_without_what_is_written_between_them(memory: Memory) -> None:
    memory.write([Entity(name="first", type="a"), Entity(name="second"), Entity(name="third")])
    memory.write([Moment(name=f"moment {n}") for n in range(300)])
    memory.write([Entity(name="last", type="b")])
    records = memory.admin.store.records
    names, number = [], 0
    for _ in range(4):
        found, number = records.entities_after(number, 1)
        names += [entity.name for entity in found]
    assert names == ["first", "second", "third", "last"]
    assert records.entities_after(number, 9) == ([], number)


def test_what_was_reached_by_an_edge_that_goes_is_linked_by_its_own(memory: Memory) -> None:
    texts = (
        "yesterday Quill called.",
        "yesterday kessler called. quill works called. Quill called.",
    )
    for number, text in enumerate(texts):
        memory.read_text(text, uri=f"{number}.txt", name=f"text {number}")
    memory.write([Entity(name="acme", type="organization", aliases=("quill",))])
    memory.admin.optimize()
    memory.write([Entity(name="Kessler", type="organization")])
    memory.admin.optimize()
    assert _reached(memory, "text 1") >= {"acme", "Kessler"}


def test_a_spelling_of_a_name_is_kept_when_a_text_is_read_that_has_the_other(
    memory: Memory,
) -> None:
    memory.write([Entity(name="Kessler", type="person", aliases=("kessler",))])
    memory.read_text("yesterday Kessler called.", uri="a.txt", name="a")
    memory.read_text("yesterday kessler called.", uri="b.txt", name="b")
    assert _mentions(memory)["b"] == {"kessler"}


def test_a_name_within_a_longer_one_that_is_known_hides_it_only_as_it_was_found(
    memory: Memory,
) -> None:
    memory.read_text("yesterday Acme called. acme tower called.", uri="a.txt", name="a")
    memory.write([Entity(name="acme", type="organization"), Entity(name="Acme Tower")])
    memory.admin.optimize()
    assert _reached(memory, "a") >= {"acme", "Acme Tower"}


_PLACES = ("Acme", "acme", "acme tower", "Kessler", "kessler", "quill works", "Quill", "Sarah Chen")
_TEXTS = st.lists(
    st.tuples(
        st.sampled_from(["yesterday", "Yesterday", "They", "we saw"]), st.sampled_from(_PLACES)
    )
    .map(" ".join)
    .map(lambda words: f"{words} called again."),
    min_size=1,
    max_size=3,
).map(" ".join)
_ENTITIES = st.builds(
    Entity,
    type=st.sampled_from(["organization", "person", "thing"]),
    name=st.sampled_from(["acme", "Acme Tower", "Kessler", "Quill Works", "tower", "Chen"]),
    aliases=st.lists(st.sampled_from(["quill", "kessler", "the tower"]), max_size=1).map(tuple),
)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_order_in_which_texts_and_entities_came_does_not_matter(
    new_memory: Open, data: st.DataObject
) -> None:
    texts = data.draw(st.lists(_TEXTS, min_size=1, max_size=3, unique=True))
    entities = data.draw(
        st.lists(_ENTITIES, min_size=1, max_size=3).filter(
            # which of two of one name a text means hangs on what was known when it was read
            lambda entities: (
                len({key for one in entities for key in keys_of(one)})
                == sum(len(set(keys_of(one))) for one in entities)
            )
        )
    )
    steps: list[str | Entity] = [*texts, *entities]
    found = []
    for order in (steps, data.draw(st.permutations(steps))):
        with new_memory() as memory:
            for step in order:
                if isinstance(step, Entity):
                    memory.write([step])
                else:
                    memory.read_text(
                        step, uri=f"{texts.index(step)}.txt", name=f"text {texts.index(step)}"
                    )
            memory.admin.optimize()
            found.append([
                _reached(memory, f"text {n}") & {entity.name for entity in entities}
                for n in range(len(texts))
            ])  # fmt: skip
            assert memory.admin.check() == []
    assert found[0] == found[1]
