"""The memories that a server has open: few, shared by all, never closed under whoever uses one."""

import threading

import pytest

from remloom import Home
from remloom.errors import BusyError, StoreClosedError, StoreError, TenantNotFoundError
from remloom.memory.memory import Memory
from remloom.serve import tenants as module
from remloom.serve.tenants import Tenants
from remloom.settings import Settings


@pytest.fixture
def make(tmp_path):
    made = []

    def of(*names, **changes):
        for name in names:
            Home(tmp_path).create(name)
        settings = Settings(home=str(tmp_path), embedder="none", **changes)
        made.append(Tenants(settings))
        return made[-1]

    yield of
    for one in made:
        one.close()


def test_a_memory_stays_open_and_is_opened_once(make, monkeypatch):
    tenants = make("acme")
    opened = []
    open_one = Memory.open

    def counted(*args, **options):
        opened.append(options["settings"].tenant)
        return open_one(*args, **options)

    monkeypatch.setattr(Memory, "open", counted)
    found = []

    def use():
        with tenants.opened("acme") as memory:
            found.append(memory)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(memory) for memory in found}) == 1
    assert opened == ["acme"]


def test_the_one_that_was_used_longest_ago_makes_room(make):
    tenants = make("a", "b", "c", serve_open_tenants=2)
    with tenants.opened("a") as first:
        pass
    for name in ("b", "a", "c"):
        with tenants.opened(name):
            pass
    assert [memory.admin.tenant for memory in tenants.open_memories()] == ["a", "c"]
    assert tenants.open_memories()[0] is first


def test_one_that_is_in_use_is_never_closed(make, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    tenants = make("a", "b", serve_open_tenants=1)
    with tenants.opened("a") as memory:
        with pytest.raises(BusyError, match="in use"), tenants.opened("b"):
            pass
        assert memory.admin.stats().tenant == "a"
    with tenants.opened("b") as other:
        assert other.admin.tenant == "b"


def test_reading_makes_no_tenant(make, tmp_path):
    tenants = make("acme")
    with pytest.raises(TenantNotFoundError), tenants.opened("nobody"):
        pass
    assert [info.name for info in Home(tmp_path).tenants()] == ["acme"]
    assert tenants.open_memories() == []


def test_a_damaged_tenant_is_an_error_each_time_and_takes_no_place(make, tmp_path):
    tenants = make("acme", "other", serve_open_tenants=1)
    (tmp_path / "tenants" / "acme" / "memory.db").write_bytes(b"this is no database" * 500)
    for _ in range(2):
        with pytest.raises(StoreError), tenants.opened("acme"):
            pass
    with tenants.opened("other") as memory:
        assert memory.admin.tenant == "other"


def test_one_that_was_deleted_and_made_anew_is_opened_anew(make, tmp_path):
    tenants = make("acme")
    with tenants.opened("acme") as memory:
        memory.read_text("Sarah likes tea.", uri="tea.md")
    Home(tmp_path).delete("acme")
    Home(tmp_path).create("acme")
    memory.admin.store.admin.detect_deletion()
    with pytest.raises(StoreClosedError), tenants.opened("acme") as memory:
        memory.admin.stats()
    with tenants.opened("acme") as memory:
        assert not list(memory.admin.records())


def test_idle_memories_are_closed(make, monkeypatch):
    tenants = make("a", "b")
    monkeypatch.setattr(module, "IDLE", -1.0)
    with tenants.opened("a"), tenants.opened("b"):
        tenants.close_idle()
        assert len(tenants.open_memories()) == 2
    tenants.close_idle()
    assert tenants.open_memories() == []


def test_all_memories_share_one_embedder(tmp_path):
    for name in ("a", "b"):
        Home(tmp_path).create(name)
    tenants = Tenants(Settings(home=str(tmp_path), embedder="minilm"))
    try:
        with tenants.opened("a") as one, tenants.opened("b") as other:
            assert one.admin.embedder is other.admin.embedder
    finally:
        tenants.close()
