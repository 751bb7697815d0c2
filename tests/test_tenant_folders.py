"""A tenant's folder and its name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from remloom import Entity, Home, Memory
from remloom.errors import (
    ConflictError,
    StoreClosedError,
    StoreError,
    TenantNotFoundError,
    WrongKeyError,
)
from remloom.predicates import Query
from remloom.serve.cli.app import program
from waiting import until

KEY, OTHER = "5a" * 32, "6b" * 32


def memory(home: Path, **options: object) -> Memory:
    return Memory.open(home, **{"embedder": "none", **options})  # type: ignore[arg-type]


def filled(home: Path, tenant: str, key: str | None) -> Path:
    with memory(home, tenant=tenant, key=key) as opened:
        opened.write([Entity(name=f"of {tenant}")])
    return home / "tenants" / tenant


@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize("name", ["b", "A"])  # "A": what a disk that knows no case makes of "a"
def test_a_folder_that_holds_another_tenant_is_refused_until_it_is_adopted(
    tmp_path: Path, key: str | None, name: str
) -> None:
    folder = filled(tmp_path, "a", key)
    shutil.copytree(folder, folder.with_name(name))
    for create in (True, False):
        with pytest.raises(StoreError, match=f"holds tenant 'a', not '{name}'") as caught:
            memory(tmp_path, tenant=name, key=key, create=create)
        assert f"remloom tenant adopt {name}" in caught.value.remedy
    with pytest.raises(StoreError, match="holds tenant 'a'"):
        Home(tmp_path, key=key).create(name)
    assert {info.name: info.damaged for info in Home(tmp_path).tenants()} == {
        "a": False,
        name: True,
    }
    Home(tmp_path, key=key).adopt(name)
    Home(tmp_path, key=key).adopt(name)  # which is one now
    for tenant in ("a", name):
        with memory(tmp_path, tenant=tenant, key=key, create=False) as opened:
            assert opened.lookup("of a").records
    Home(tmp_path).delete(name)
    with memory(tmp_path, tenant="a", key=key, create=False) as opened:
        assert opened.lookup("of a").records


def test_only_who_has_the_key_adopts_an_encrypted_tenant(tmp_path: Path) -> None:
    filled(tmp_path, "a", KEY).rename(tmp_path / "tenants" / "b")
    for key in (OTHER, None):
        with pytest.raises(WrongKeyError):
            Home(tmp_path, key=key).adopt("b")
    with pytest.raises(TenantNotFoundError):
        Home(tmp_path, key=KEY).adopt("c")


def test_a_backup_is_restored_under_another_name_by_adopting_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMLOOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    filled(tmp_path / "home", "a", None)
    run = CliRunner().invoke
    assert (
        run(
            program, ["backup", str(tmp_path / "home" / "tenants" / "old"), "--tenant", "a"]
        ).exit_code
        == 0
    )
    assert run(program, ["lookup", "of a", "--tenant", "old"]).exit_code == 7
    assert run(program, ["tenant", "adopt", "old"]).exit_code == 0
    assert "of a" in run(program, ["lookup", "of a", "--tenant", "old"]).stdout


@pytest.mark.parametrize("key", [None, KEY])
def test_a_bare_database_is_listed_as_damaged_and_can_be_deleted(
    tmp_path: Path, key: str | None
) -> None:
    (filled(tmp_path, "a", key) / "tenant.json").unlink()
    assert [(info.name, info.damaged) for info in Home(tmp_path).tenants()] == [("a", True)]
    with pytest.raises(StoreError, match="remloom tenant delete a"):
        memory(tmp_path, tenant="a", key=key)
    Home(tmp_path).delete("a")
    memory(tmp_path, tenant="a", key=key).close()


def is_closed(opened: Memory) -> bool:
    try:
        opened.lookup("before")
    except StoreClosedError:
        return True
    return False


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("key", [None, KEY])
def test_who_has_a_deleted_tenant_open_is_told_and_harms_nothing(
    tmp_path: Path, key: str | None, anew: bool
) -> None:
    with memory(tmp_path, tenant="a", key=key) as opened:
        opened.write([Entity(name="before")])
        opened.lookup("before")
        assert opened.sql("SELECT name FROM entities").rows == [("before",)]
        Home(tmp_path).delete("a")
        if anew:
            filled(tmp_path, "a", OTHER if key else None)
        # a write finds out at once, a read within a second or two
        with pytest.raises(StoreClosedError):
            opened.write([Entity(name="after")])
        until(lambda: is_closed(opened))
        for ask in (
            lambda: opened.write([Entity(name="after")]),
            lambda: opened.lookup("before"),
            lambda: opened.fuzzy("befor"),
            lambda: opened.sql("SELECT name FROM entities"),
            lambda: opened.traverse("before"),
            lambda: opened.query_entities(Query()),
            lambda: list(opened.admin.store.records.all()),
            lambda: opened.admin.stats(),
            lambda: opened.forget("before"),
            lambda: opened.admin.check(),
        ):
            with pytest.raises(StoreClosedError, match="the tenant was deleted"):
                ask()
    assert [info.name for info in Home(tmp_path).tenants()] == (["a"] if anew else [])
    if anew:
        with memory(tmp_path, tenant="a", key=OTHER if key else None, create=False) as opened:
            assert opened.lookup("of a").records
            assert not opened.lookup("before", "after").records
            assert opened.admin.check() == []


def test_what_is_no_tenant_is_not_taken_for_the_place_of_one(tmp_path: Path) -> None:
    folder = tmp_path / "tenants" / "a"
    folder.mkdir(parents=True)
    filled(tmp_path, "a", None)  # of an empty folder
    Home(tmp_path).delete("a")
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="holds no tenant"):
        memory(tmp_path, tenant="a")
    with pytest.raises(TenantNotFoundError):
        Home(tmp_path).delete("a")
    assert (folder / "notes.txt").read_text() == "mine"


def test_deleting_leaves_files_that_have_another_name_as_they_are(tmp_path: Path) -> None:
    folder = filled(tmp_path, "a", KEY)
    before = (folder / "tenant.json").read_bytes()
    (tmp_path / "kept.json").hardlink_to(folder / "tenant.json")
    Home(tmp_path).delete("a")
    assert (tmp_path / "kept.json").read_bytes() == before


def test_a_tenant_is_created_once(tmp_path: Path) -> None:
    Home(tmp_path, key=KEY).create("a")
    with pytest.raises(ConflictError):
        Home(tmp_path, key=KEY).create("a")
