"""Asking other tenants: as far as they grant it, and not a word further."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remloom import Edge, Entity, Home, Memory, Message, Moment, Person, Resource, retrieve
from remloom.errors import (
    EmbedderError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    StoreClosedError,
    TenantNotFoundError,
    UnknownNameError,
    VectorError,
)
from remloom.federation import FederatedAnswer, Federation, fan_out
from remloom.federation.granted import UNSHOWN, GrantedStore, _shown
from remloom.kv import KeyRange
from remloom.model import Field, Row, SchemaDefinition
from remloom.predicates import Eq, VectorSimilar
from remloom.retrieve.options import MODES
from remloom.settings import Settings
from remloom.store.contract import Store
from remloom.store.tenants.backends import backend_for
from remloom.tenancy import grants as grants_module
from remloom.tenancy.audit import AuditLog
from remloom.testing.embedder import WordEmbedder, WordTokenEncoder
from waiting import PATIENCE, until

RECORDS = [
    Resource(uri="terms.md", category="public", content="Payment is due within thirty days."),
    Resource(uri="cuts.md", category="secret", content="The payment of bonuses ends in May."),
    Resource(
        uri="note.md",
        category="public",
        content="Alpha ships in June.",
        related_entities=("Project Omega",),
    ),
    Entity(name="Sarah Chen", type="person", aliases=("The Mole",), summary="Leads payment."),
    Entity(name="Sarah Chan", type="spy", summary="Watches payment."),
    Moment(
        name="Kickoff",
        starts_at=datetime(2025, 3, 3, tzinfo=UTC),
        ends_at=datetime(2025, 3, 4, tzinfo=UTC),
        summary="Payment was discussed.",
        present_persons=(Person(name="Sarah Chen", id="x"),),
        entity_refs=("Project Omega",),
    ),
    Edge(src="Sarah Chen", rel_type="manages", dst="Bob Smith"),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for tenant in ("legal", "sales", "hr"):
        Home(tmp_path).create(tenant)
    with Memory.open(tmp_path, tenant="legal", embedder=WordEmbedder()) as memory:
        memory.write(RECORDS, wait=True)
    return tmp_path


@pytest.fixture
def sales(home: Path) -> Iterator[Federation]:
    with Federation.open(home, as_tenant="sales", embedder=WordEmbedder()) as federation:
        yield federation


def audit_of(home: Path, tenant: str) -> list[tuple[str, str, int]]:
    with Memory.open(home, tenant=tenant, embedder="none", create=False) as memory:
        calls = AuditLog(memory.admin.store.kv).calls(100)
    return [(call.key_id, call.operation, len(call.records)) for call in calls]


def test_nobody_is_named_without_a_grant(home: Path, sales: Federation) -> None:
    answer = sales.search_text("payment")
    assert (answer.hits, answer.tenants, answer.unanswered) == ([], (), {})
    assert answer.reason == "nobody has granted 'sales' anything"
    assert sales.grants() == []


def test_one_who_granted_nothing_and_one_who_is_not_there_look_alike(home: Path) -> None:
    with Federation.open(home, as_tenant="sales", tenants=["legal", "ghost"]) as asking:
        answer = asking.search_text("payment")
    assert set(answer.unanswered) == {"legal", "ghost"}
    assert len(set(answer.unanswered.values())) == 1


def test_a_grant_lets_find_what_it_says_and_no_more(home: Path, sales: Federation) -> None:
    Home(home).grant("legal", to="sales", where=Eq("category", "public"))
    answer = sales.search_text("payment")
    assert [(hit.tenant, hit.uri) for hit in answer.hits] == [("legal", "terms.md")]
    assert answer.hits[0].source == "legal: terms.md"
    assert [hit.uri for hit in sales.search("payment of bonuses in May").hits][:1] == ["terms.md"]
    recalled = sales.recall("When is payment due?")
    assert {hit.uri for hit in recalled.hits} == {"terms.md", "note.md"}
    assert "cuts.md" not in sales.context("When does the payment of bonuses end?")
    # another tenant has nothing of it
    with Federation.open(home, as_tenant="hr", embedder="none") as other:
        assert other.search_text("payment").hits == []


def test_what_is_shown_of_a_record_points_to_no_other(home: Path, sales: Federation) -> None:
    Home(home).grant("legal", to="sales", schemas=["resources", "entities", "moments"])
    (entity,) = sales.lookup("sarah chen").hits
    assert (entity.record.aliases, entity.graph_paths) == ((), ())
    (note,) = sales.search_text("Alpha ships").hits
    assert note.record.related_entities == ()
    (moment,) = sales.search_text("discussed").hits
    assert (moment.record.entity_refs, moment.record.present_persons[0].id) == ((), "")
    assert sales.lookup("The Mole").hits == []


def test_every_field_is_shown_or_cannot_be_asked_for() -> None:
    for kind in (Resource, Entity, Moment):
        values = {
            name: ("secret",) if name in UNSHOWN else getattr(kind(name="a"), name)
            for name in kind.__struct_fields__
            if name not in ("parent_moment", "context", "present_persons", "embedding")
        }
        shown = _shown(kind(**values))
        assert "secret" not in repr(shown), kind


def test_a_question_that_nothing_answers_is_told_so_of_what_was_granted(
    home: Path, sales: Federation
) -> None:
    Home(home).grant("legal", to="sales", where="category = 'public'")
    answer = sales.recall("Zebras?", exclude=["vector"])
    assert answer.hits == []
    assert answer.reason.startswith("legal: no record that was searched")
    Home(home).grant("hr", to="sales")
    answer = sales.recall("Zebras?", exclude=["vector"])
    assert "hr: nothing is remembered yet" in answer.reason
    Home(home).revoke("legal", to="sales")
    Home(home).grant("legal", to="sales", where="category = 'nowhere'")
    answer = sales.recall("Zebras?", exclude=["vector"])
    assert "legal: nothing is remembered yet" in answer.reason


def test_whatever_recall_reads_of_a_store_is_in_the_view_of_what_was_granted(home: Path) -> None:
    reads = re.compile(r"store\.(records|search|graph|vectors|token_vectors)\.(\w+)")
    files = Path(retrieve.__file__).parent.rglob("*.py")
    read = {one for file in files for one in reads.findall(file.read_text(encoding="utf-8"))}
    assert ("search", "text") in read
    with Memory.open(home, tenant="legal", embedder="none") as memory:
        view = GrantedStore(memory.admin.store, {})
        lacking = [one for one in sorted(read) if not hasattr(getattr(view, one[0]), one[1])]
    assert lacking == []


def test_suggestions_come_of_what_was_granted(home: Path, sales: Federation) -> None:
    Home(home).grant("legal", to="sales", schemas="entities", where="type = 'person'")
    answer = sales.lookup("Sarah Chin")
    assert answer.hits == []
    assert [hit.name for hit in answer.suggestions] == ["Sarah Chen"]
    assert answer.missing == ("Sarah Chin",)
    # the only person of this name: the spy is not counted
    assert [hit.name for hit in sales.lookup("Sarah").hits] == ["Sarah Chen"]


def test_a_revoked_grant_is_not_in_force_at_the_next_question(
    home: Path, sales: Federation
) -> None:
    grant = Home(home).grant("legal", to="sales")
    Home(home).grant("legal", to="sales", schemas=["entities"])
    assert sales.search_text("payment").hits
    assert Home(home).revoke("legal", to="sales", id=grant.id) == 1
    assert {hit.schema for hit in sales.search_text("payment").hits} == {"entities"}
    assert Home(home).revoke("legal", to="sales") == 1
    assert sales.search_text("payment").hits == []
    assert Home(home).grants("legal") == []
    with pytest.raises(NotFoundError, match="granted 'sales' nothing"):
        Home(home).revoke("legal", to="sales")


def test_a_grant_ends_at_its_time(
    home: Path, sales: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant = Home(home).grant("legal", to="sales", until="1h")
    assert grant.until is not None
    assert sales.search_text("payment").hits
    later = grant.until + timedelta(seconds=1)
    monkeypatch.setattr(grants_module.Grant, "holds_at", lambda self, at: self.until > later)
    assert sales.search_text("payment").hits == []
    assert sales.grants() == []
    assert len(Home(home).grants("legal", to="sales")) == 1


def test_a_grant_is_for_some_uses(home: Path, sales: Federation) -> None:
    Home(home).grant("legal", to="sales", may="lookup", schemas="entities")
    assert sales.lookup("Sarah Chen").hits
    answer = sales.search_text("payment")
    assert answer.hits == []
    assert answer.unanswered == {"legal": "its grants to 'sales' are not for search"}


def test_each_use_is_in_the_audit_log_of_the_one_who_granted_it(
    home: Path, sales: Federation
) -> None:
    Home(home).grant("legal", to="sales")
    sales.search_text("payment")
    sales.recall("When is payment due?")
    sales.lookup("nobody")
    noted = audit_of(home, "legal")
    assert [(who, what) for who, what, _ in noted] == [
        ("tenant:sales", "federation.lookup"),
        ("tenant:sales", "federation.recall"),
        ("tenant:sales", "federation.search_text"),
    ]
    assert noted[-1][2] == 2
    assert audit_of(home, "sales") == []


def test_those_who_ask_cannot_probe_what_they_are_not_shown(home: Path, sales: Federation) -> None:
    Home(home).grant("legal", to="sales")
    for field in sorted(UNSHOWN - {"embedding"}):
        with pytest.raises(ForbiddenError, match="do not show"):
            sales.search_text("payment", where=f"{field} CONTAINS 'Omega'")
        with pytest.raises(ForbiddenError, match="do not show"):
            sales.recall("payment", where=f"NOT ({field}.x = 'Omega' OR category = 'a')")
    with pytest.raises(ForbiddenError):
        sales.search("payment", where="source_resource_ids CONTAINS 'x'")
    with pytest.raises(InvalidInputError, match="VectorSimilar"):
        sales.search("payment", where=VectorSimilar(query=[1.0]))
    # whether any record has such a key is not told
    assert sales.search_text("payment", where="salary > 3").hits == []
    assert sales.search_text("payment", where="category = 'public'").hits


def test_a_turn_is_not_found_by_the_turns_beside_it(home: Path, sales: Federation) -> None:
    with Memory.open(home, tenant="legal", embedder="none") as memory:
        turns = [Message(speaker="Ann", text="Do you like the purple submarine?")]
        turns.append(Message(speaker="Bob", text="Very much."))
        memory.read_chat(turns, uri="chat:1")
        assert len(memory.search_text("purple submarine", schema="resources").records) == 2
    Home(home).grant("legal", to="sales", where="metadata.speaker = 'Bob'")
    assert sales.search_text("purple submarine").hits == []
    assert [hit.content for hit in sales.search_text("much").hits] == ["Very much."]


def test_answers_of_several_are_merged_by_rank(home: Path, sales: Federation) -> None:
    with Memory.open(home, tenant="hr", embedder=WordEmbedder()) as memory:
        texts = ["Payment, payment, payment.", "Payment of travel."]
        records = [Resource(uri=f"{n}.md", content=text) for n, text in enumerate(texts)]
        memory.write(records, wait=True)
    Home(home).grant("legal", to="sales")
    Home(home).grant("hr", to="sales")
    hits = sales.search_text("payment").hits
    assert sorted(hit.tenant for hit in hits[:2]) == ["hr", "legal"]
    assert sorted(hit.tenant for hit in hits[2:]) == ["hr", "legal"]
    assert len(sales.search_text("payment", limit=3).hits) == 3
    text = sales.context("What about payment?")
    assert "hr: 0.md" in text
    assert "legal: terms.md" in text
    assert sales.recall("What about payment?", budget_tokens=60).tokens <= 60


def test_what_granted_tenants_ask_is_checked(home: Path, sales: Federation) -> None:
    Home(home).grant("legal", to="sales")
    with pytest.raises(InvalidInputError):
        sales.search_text("  ")
    with pytest.raises(InvalidInputError, match="profile"):
        sales.recall("payment", profile=True)
    with pytest.raises(UnknownNameError):
        sales.recall("payment", exclude=["nothing"])
    assert sales.search_text("payment", schema="moments").reason == "legal: it grants no moments"
    with (
        Federation.open(home, as_tenant="sales", embedder="none") as without,
        pytest.raises(EmbedderError),
    ):
        without.search("payment")


def test_a_grant_that_would_be_of_no_use_is_refused(home: Path) -> None:
    with pytest.raises(TenantNotFoundError):
        Home(home).grant("legal", to="nobody")
    with pytest.raises(TenantNotFoundError):
        Home(home).grant("nobody", to="sales")
    with pytest.raises(InvalidInputError, match="without a grant"):
        Home(home).grant("sales", to="sales")
    with pytest.raises(UnknownNameError):
        Home(home).grant("legal", to="sales", may=["write"])
    with pytest.raises(UnknownNameError):
        Home(home).grant("legal", to="sales", schemas=["orders"])
    with pytest.raises(UnknownNameError):
        Home(home).grant("legal", to="sales", where="colour = 'red'")
    with pytest.raises(InvalidInputError):
        Home(home).grant("legal", to="sales", until=datetime(2020, 1, 1, tzinfo=UTC))
    with pytest.raises(InvalidInputError):
        Home(home).grant("legal", to="sales", schemas=[])
    with pytest.raises(InvalidInputError):
        Home(home).grant("legal", to="sales", where=VectorSimilar(query=[1.0] * 256))
    assert Home(home).grants() == []


def test_another_tenant_of_an_old_name_has_no_grants(home: Path) -> None:
    Home(home).grant("legal", to="sales")
    Home(home).delete("sales")
    Home(home).create("sales")
    with Federation.open(home, as_tenant="sales", embedder="none") as asking:
        assert asking.search_text("payment").tenants == ()
    assert Home(home).grants("legal") == []


def test_a_copy_of_a_tenant_has_granted_nothing(home: Path, tmp_path: Path) -> None:
    Home(home).grant("legal", to="sales")
    Home(home).copy(home, tenant="legal", to_tenant="copy")
    with Federation.open(home, as_tenant="sales", embedder="none") as asking:
        assert asking.search_text("payment").tenants == ("legal",)


def test_one_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    key = Home.new_key()
    Home(tmp_path, key=key).create("vault")
    Home(tmp_path, key=key).create("sales")
    with Memory.open(tmp_path, tenant="vault", key=key, embedder="none") as memory:
        memory.write([Resource(uri="a.md", content="The code of the vault.")])
    Home(tmp_path, key=key).grant("vault", to="sales")
    with Federation.open(tmp_path, as_tenant="sales", key=key, embedder="none") as asking:
        assert asking.search_text("vault").hits
        path = tmp_path / "tenants" / "vault" / "memory.db"
        path.write_bytes(b"damaged" * 1_000)
    with Federation.open(tmp_path, as_tenant="sales", key=key, embedder="none") as asking:
        answer = asking.search_text("vault")
        assert list(answer.unanswered) == ["vault"]
        assert answer.unanswered["vault"] == "its key does not open it"
        assert asking.grants()[0].unreadable
        assert "vault (its key does not" in asking.context("What is the code?")


def test_vectors_of_another_embedder_are_said(home: Path) -> None:
    Home(home).grant("legal", to="sales")
    other = WordEmbedder("other-128", 128)
    with Federation.open(home, as_tenant="sales", embedder=other) as asking:
        answer = asking.search("payment")
    assert answer.unanswered == {"legal": "its vectors were made by another embedder"}


def test_vectors_of_other_dimensions_are_said_and_the_others_answer(home: Path) -> None:
    with Memory.open(home, tenant="hr", embedder=WordEmbedder(dims=32)) as memory:
        memory.write([Resource(uri="pay.md", content="Payment is due in May.")], wait=True)
    for tenant in ("legal", "hr"):
        Home(home).grant(tenant, to="sales")
    with Federation.open(home, as_tenant="sales", embedder=WordEmbedder()) as sales:
        for answer in (sales.recall("When is payment due?"), sales.search("payment")):
            assert answer.tenants == ("legal",)
            assert answer.hits
            assert answer.unanswered == {"hr": "its vectors were made by another embedder"}
    with Federation.open(home, as_tenant="sales", embedder="none") as sales:
        given = WordEmbedder().embed_query("When is payment due?")
        answer = sales.recall("When is payment due?", vector=given)
        assert answer.tenants == ("legal",)
        assert answer.hits
        assert answer.unanswered == {"hr": "its vectors have other dimensions than the question's"}
        for wrong in ([], [0.0] * 256, [float("nan")] * 256):
            with pytest.raises(VectorError, match="the query"):
                sales.recall("When is payment due?", vector=wrong)


def test_tenants_are_opened_at_the_same_time_each_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tenant in ("legal", "hr"):
        Home(home).grant(tenant, to="sales")
    both, opened = threading.Barrier(2), []

    class Slow:
        def __init__(self, settings: Settings) -> None:
            self.backend = backend_for(settings)

        def open(self, settings: Settings, *, create: bool) -> Store:
            opened.append(settings.tenant)
            both.wait(PATIENCE)
            return self.backend.open(settings, create=create)

    monkeypatch.setattr(fan_out, "backend_for", Slow)
    with (
        Federation.open(home, as_tenant="sales", embedder="none") as sales,
        ThreadPoolExecutor(4) as threads,
    ):
        for asked in [threads.submit(sales.search_text, "payment") for _ in range(4)]:
            assert asked.result().tenants == ("hr", "legal")
    assert sorted(opened) == ["hr", "legal"]


def test_a_deleted_grantor_is_not_named(home: Path, sales: Federation) -> None:
    Home(home).grant("legal", to="sales")
    assert sales.search_text("payment").hits
    Home(home).delete("legal")
    answer = sales.search_text("payment")
    assert (answer.hits, answer.unanswered, answer.tenants) == ([], {}, ())


def test_one_that_is_closed_opens_nothing_any_more(home: Path) -> None:
    for tenant in ("legal", "hr"):
        Home(home).grant(tenant, to="sales")
    sales = Federation.open(home, as_tenant="sales", embedder="none")
    assert sales.search_text("payment").tenants == ("hr", "legal")
    sales.close()
    sales.close()
    for ask in (sales.grants, lambda: sales.search_text("payment"), lambda: sales.recall("Who?")):
        with pytest.raises(StoreClosedError, match="the federation is closed"):
            ask()
    assert "remloom-federation" not in {one.name.partition("_")[0] for one in threading.enumerate()}


def test_settings_as_a_value_are_taken(home: Path) -> None:
    Home(home).grant("legal", to="sales")
    settings = Settings.load(home=str(home), embedder="none")
    with Federation.open(as_tenant="sales", settings=settings) as asking:
        assert len(asking.search_text("payment").hits) == 2
        assert [grant.tenant for grant in asking.grants()] == ["legal"]


def test_rows_of_a_registered_schema_are_found_as_far_as_granted(
    home: Path, sales: Federation
) -> None:
    fields = {"number": Field(kind="integer"), "total": Field(kind="decimal")}
    fields["note"] = Field(searchable=True)
    with Memory.open(home, tenant="legal", embedder="none") as memory:
        memory.schemas.register(
            SchemaDefinition(
                schema_name="orders",
                entity_types=("order",),
                handle=("number",),
                base_fields=fields,
            )
        )
        memory.write(
            [
                Row(schema="orders", fields={"number": 1, "total": "5", "note": "Blue lamps."}),
                Row(
                    schema="orders", fields={"number": 2, "total": "500", "note": "Blue lamps too."}
                ),
            ]
        )
    Home(home).grant("legal", to="sales", schemas=["orders"], where="total < 100")
    assert [hit.name for hit in sales.search_text("lamps").hits] == ["order-1"]
    assert sales.search_text("lamps", where="total > 400").hits == []
    assert [hit.name for hit in sales.lookup("order-1", "order-2").hits] == ["order-1"]
    assert [hit.name for hit in sales.recall("Who wants blue lamps?").hits] == ["order-1"]
    with Memory.open(home, tenant="legal", embedder="none") as memory:
        fields["amount"] = fields.pop("total")
        memory.schemas.register(
            memory.schemas.get("orders"), fields=fields, mapping={"total": "amount"}
        )
    for name in ("amount", "total"):
        assert [hit.name for hit in sales.search_text("lamps", where=f"{name} < 9").hits] == [
            "order-1"
        ]
    with Memory.open(home, tenant="legal", embedder="none") as memory:
        memory.schemas.drop("orders", rows=True)
    assert sales.search_text("lamps").hits == []


# -- late interaction ------------------------------------------------------------------------------


class HangingTokenEncoder(WordTokenEncoder):
    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def encode_query(self, text: str) -> Any:
        self.released.wait(PATIENCE)
        return super().encode_query(text)


def parts_of(answer: FederatedAnswer) -> set[str]:
    return {reason.part for hit in answer.hits for reason in hit.reasons}


def test_recall_has_late_interaction_with_those_who_have_token_vectors_of_the_encoder(
    home: Path,
) -> None:
    encoder = WordTokenEncoder()
    with Memory.open(
        home, tenant="legal", embedder=WordEmbedder(), token_encoder=encoder
    ) as memory:
        memory.embed_pending()
    Home(home).grant("legal", to="sales", where=Eq("category", "public"))
    question = "When is payment due?"
    asked = {"as_tenant": "sales", "embedder": WordEmbedder()}
    with Federation.open(home, **asked, token_encoder=encoder) as sales:
        answer = sales.recall(question)
    assert "late" in parts_of(answer)
    assert {hit.uri for hit in answer.hits} == {"terms.md", "note.md"}
    assert answer.note == ""
    for other in (WordTokenEncoder("another"), None):
        with Federation.open(home, **asked, token_encoder=other) as sales:
            assert "late" not in parts_of(sales.recall(question))


@pytest.mark.parametrize("mode", MODES)
def test_recall_answers_in_every_mode(home: Path, sales: Federation, mode: str) -> None:
    at = datetime(2025, 3, 5, tzinfo=UTC)
    said = Resource(uri="mail.md", category="public", content="Payment is late.", starts_at=at)
    with Memory.open(home, tenant="legal", embedder=WordEmbedder()) as memory:
        memory.write([said], wait=True)
    Home(home).grant("legal", to="sales", where="category = 'public'")
    answer = sales.recall("What of payment in March 2025?", mode=mode)
    assert answer.unanswered == {}
    assert answer.hits[0].uri == "mail.md"
    assert "cuts.md" not in {hit.uri for hit in answer.hits}


def test_token_vectors_of_what_was_not_granted_are_not_read(home: Path) -> None:
    with Memory.open(
        home, tenant="legal", embedder=WordEmbedder(), token_encoder=WordTokenEncoder()
    ) as memory:
        memory.embed_pending()
        store = memory.admin.store
        ids = [record.id for record in memory.admin.records("resources")]
        view = GrantedStore(store, {"resources": Eq("category", "public")})
        assert len(store.token_vectors.of(ids, model="word-tokens-64")) == 3
        assert len(view.token_vectors.of(ids, model="word-tokens-64")) == 2


def test_a_token_encoder_that_hangs_is_left_out_and_that_is_said(home: Path) -> None:
    with Memory.open(
        home, tenant="legal", embedder=WordEmbedder(), token_encoder=WordTokenEncoder()
    ) as memory:
        memory.embed_pending()
    Home(home).grant("legal", to="sales")
    hanging = HangingTokenEncoder()
    settings = Settings.load(home=str(home), embedder_timeout=1)
    with Federation.open(
        as_tenant="sales", embedder=WordEmbedder(), token_encoder=hanging, settings=settings
    ) as sales:
        answer = sales.recall("When is payment due?")
    hanging.released.set()
    assert answer.hits
    assert "no late interaction: word-tokens-64 took longer than 1 seconds" in answer.note


def remember_in(home: Path, *tenants: str, encoder: WordTokenEncoder) -> None:
    """Let tenants remember the same with token vectors, and grant it to sales."""
    for tenant in tenants:
        Home(home).create(tenant)
        with Memory.open(
            home, tenant=tenant, embedder=WordEmbedder(), token_encoder=encoder
        ) as memory:
            memory.write(RECORDS, wait=True)
        Home(home).grant(tenant, to="sales")


@pytest.mark.parametrize("hanging", ["embedder", "token_encoder"])
def test_a_model_that_hangs_is_waited_for_once_however_many_are_asked(
    home: Path, hanging: str
) -> None:
    tenants = [f"branch-{n}" for n in range(12)]
    remember_in(home, *tenants, encoder=WordTokenEncoder())
    released, calls = threading.Event(), 0

    def hang(text: str) -> Any:
        nonlocal calls
        calls += 1
        released.wait(PATIENCE)
        raise ConnectionError("refused")

    models: dict[str, Any] = {"embedder": WordEmbedder(), "token_encoder": WordTokenEncoder()}
    name = models[hanging].name
    setattr(models[hanging], "embed_query" if hanging == "embedder" else "encode_query", hang)
    settings = Settings.load(home=str(home), embedder_timeout=1)
    with Federation.open(as_tenant="sales", settings=settings, **models) as sales:
        for times in (1, 2):
            answer = sales.recall("When is payment due?")
            assert set(answer.tenants) == set(tenants)
            assert {hit.tenant for hit in answer.hits} <= set(tenants)
            # what works has an end of its patience too, on a machine that is busy enough
            assert answer.note.count(f"{name} took longer than 1 seconds") == 1
            assert calls == times
        released.set()


def test_what_one_tenant_goes_without_is_said_of_that_one(home: Path) -> None:
    name = WordTokenEncoder().name
    remember_in(home, "near", encoder=WordTokenEncoder(name, 64))
    remember_in(home, "far", encoder=WordTokenEncoder(name, 32))
    with Federation.open(
        home, as_tenant="sales", embedder=WordEmbedder(), token_encoder=WordTokenEncoder(name, 64)
    ) as sales:
        answer = sales.recall("When is payment due?")
    told = "far: no late interaction: token vectors were made with other than 64 dimensions"
    assert answer.note == told
    assert {hit.tenant for hit in answer.hits} == {"near", "far"}
    late = {hit.tenant for hit in answer.hits for reason in hit.reasons if reason.part == "late"}
    assert late == {"near"}


@pytest.mark.parametrize("hanging", ["embedder", "token_encoder"])
def test_what_a_tenant_forgets_leaves_the_disk_while_who_asks_it_waits_for_a_model(
    home: Path, hanging: str
) -> None:
    remember_in(home, "branch", encoder=WordTokenEncoder())
    released, called = threading.Event(), threading.Event()
    models: dict[str, Any] = {"embedder": WordEmbedder(), "token_encoder": WordTokenEncoder()}
    method = "embed_query" if hanging == "embedder" else "encode_query"
    answer = getattr(models[hanging], method)

    def hang(text: str) -> Any:
        called.set()
        assert released.wait(PATIENCE)
        return answer(text)

    setattr(models[hanging], method, hang)
    settings = Settings.load(home=str(home), embedder_timeout=10 * PATIENCE)
    answers: list[FederatedAnswer] = []
    with (
        Memory.open(home, tenant="branch", embedder="none") as memory,
        Federation.open(as_tenant="sales", settings=settings, **models) as sales,
    ):
        asking = threading.Thread(target=lambda: answers.append(sales.recall("payment bonuses")))
        asking.start()
        assert called.wait(PATIENCE)

        def nobody_reads_an_older_state() -> bool:
            (probe,) = memory.write([Resource(content="A probe.")])
            return not memory.forget(probe).pending

        until(nobody_reads_an_older_state)
        receipt = memory.forget("cuts.md")
        released.set()
        asking.join()
        assert receipt.verified
        assert not receipt.pending
        assert "cuts.md" not in {hit.uri for hit in answers[0].hits}
        assert answers[0].note == ""
        assert "late" in parts_of(answers[0])


def test_a_revoked_grant_that_comes_back_with_old_files_is_not_in_force(home: Path) -> None:
    revoked = Home(home).grant("legal", to="sales")
    with Memory.open(home, tenant="legal", embedder="none") as memory:
        backup = memory.admin.store.kv.list(grants_module._NAMESPACE, KeyRange(""))
    Home(home).revoke("legal", to="sales", id=revoked.id)
    Home(home).grant("legal", to="sales", schemas=["entities"])
    with Memory.open(home, tenant="legal", embedder="none") as memory:
        memory.admin.store.kv.put(backup)
    with Federation.open(home, as_tenant="sales", embedder="none") as asking:
        assert len(asking.grants()) == 1
        assert {hit.schema for hit in asking.search_text("payment").hits} == {"entities"}
