"""Whatever is granted and asked: nothing beyond it is shown, or changes what is shown."""

from __future__ import annotations

import json
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remloom import Edge, Entity, Home, Memory, Moment, Resource
from remloom.federation import FederatedAnswer, Federation
from remloom.model import Record
from remloom.settings import Settings
from remloom.testing.embedder import WordEmbedder

WORDS = ("payment", "salary", "berlin", "alpha", "lease", "bonus", "friday")
NAMES = ("Sarah Chen", "Sarah Chan", "Project Alpha", "Berlin")
KINDS = ("a", "b", "c")
SCHEMAS = ("resources", "entities", "moments")
WHERE = {"resources": "category", "entities": "type", "moments": "type"}

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
records = st.lists(
    st.tuples(
        st.sampled_from(SCHEMAS), st.sampled_from(KINDS), st.sampled_from(NAMES), texts, texts
    ),
    min_size=1,
    max_size=9,
)
grants = st.lists(
    st.tuples(
        st.sampled_from(SCHEMAS),
        st.sampled_from(KINDS),
        st.sampled_from(["=", "!="]),
        st.sets(st.sampled_from(["lookup", "search", "recall"]), min_size=1),
    ),
    min_size=1,
    max_size=3,
)
questions = st.one_of(texts, st.sampled_from([*NAMES, "Sarah", "Who is Sarah Chen?"]))


def record(number: int, schema: str, kind: str, name: str, text: str, beside: str) -> Record:
    """A record with a word that no other has, and what is not to be shown of it."""
    said = f"{text} own{number}own"
    if schema == "resources":
        return Resource(
            id=f"01900000-0000-7000-8000-{number:012}",
            name=f"{name} {number}",
            uri=f"doc{number}",
            category=kind,
            content=said,
            context=f"{beside} hidden",
            related_entities=(f"hidden{number}", *NAMES[:1]),
        )
    if schema == "entities":
        name = f"{name} {number}" if number % 2 else name
        return Entity(type=kind, name=name, aliases=(f"hidden {number}",), summary=said)
    return Moment(name=f"{name} {number}", type=kind, summary=said, entity_refs=("hidden",))


def ask(federation: Federation, use: str, question: str) -> FederatedAnswer:
    match use:
        case "lookup":
            return federation.lookup(question)
        case "meaning":
            return federation.search(question)
        case "words":
            return federation.search_text(question)
    return federation.recall(question)


def shown(answer: FederatedAnswer) -> str:
    return json.dumps(answer.as_dict(), default=str, sort_keys=True)


USES = {"lookup": "lookup", "meaning": "search", "words": "search", "recall": "recall"}


@settings(max_examples=4, suppress_health_check=list(HealthCheck))
@given(records=records, granted=grants, asked=st.lists(questions, min_size=1, max_size=2))
def test_nothing_beyond_a_grant_is_shown_or_matters(
    records: list[tuple[str, str, str, str, str]],
    granted: list[tuple[str, str, str, set[str]]],
    asked: list[str],
) -> None:
    with TemporaryDirectory() as folder:
        home = Home(folder)
        home.create("sales")
        given = [record(number, *one) for number, one in enumerate(records)]
        edges = [
            Edge(src=one.name, rel_type="knows", dst=f"hidden end {n}")
            for n, one in enumerate(given)
        ]
        values = Settings.load(home=folder, synchronous="normal")
        embedder = WordEmbedder()
        opened = Memory.open(tenant="legal", settings=values, embedder=embedder)
        asking = Federation.open(as_tenant="sales", settings=values, embedder=embedder)
        with opened as memory, asking as federation:
            memory.write([*given, *edges], wait=True)
            store = memory.admin.store
            stored = list(store.records.all())
            for schema, kind, operator, may in granted:
                where = f"{WHERE[schema]} {operator} '{kind}'"
                home.grant("legal", to="sales", may=sorted(may), schemas=[schema], where=where)

            def fits(one: Record, use: str) -> bool:
                kind = one.category if isinstance(one, Resource) else one.type
                return any(
                    schema == one.schema and (kind == wanted) == (operator == "=") and use in may
                    for schema, wanted, operator, may in granted
                )

            before: dict[tuple[str, str], str] = {}
            for way, use in USES.items():
                for question in asked:
                    answer = ask(federation, way, question)
                    found = {hit.id for hit in (*answer.hits, *answer.suggestions)}
                    assert found <= {one.id for one in stored if fits(one, use)}
                    text = shown(answer)
                    assert "hidden" not in text
                    for number, one in enumerate(given):
                        if not any(fits(kept, use) and kept.name == one.name for kept in stored):
                            assert f"own{number}own" not in text
                    before[way, question] = text
            aliases = [f"hidden {number}" for number in range(len(given))]
            assert federation.lookup(*aliases).hits == []
            # without what was not granted for any use, every answer is the same
            gone = [one.id for one in stored if not any(fits(one, use) for use in USES.values())]
            store.delete(gone, derived=False, erase=False)
            for (way, question), text in before.items():
                assert shown(ask(federation, way, question)) == text
            home.revoke("legal", to="sales")
            for way in USES:
                assert ask(federation, way, asked[0]).tenants == ()
