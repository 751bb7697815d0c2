"""Work begun beside the caller: done once, wherever it is done."""

import threading
from pathlib import Path

import pytest

from forked_work import forked
from remloom.store.indexes import hnsw


@pytest.fixture
def one_core_free(monkeypatch: pytest.MonkeyPatch) -> hnsw.Helpers:
    monkeypatch.setattr(hnsw, "_free_cores", lambda: 1)
    return hnsw.Helpers()


def test_gives_what_the_work_returns() -> None:
    begun = [hnsw.begin(lambda number=number: number * 2) for number in range(50)]
    assert [wait() for wait in begun] == [number * 2 for number in range(50)]


def test_raises_what_the_work_raises_when_it_is_asked_for() -> None:
    def fail() -> None:
        raise ValueError("no such row")

    wait = hnsw.begin(fail)
    with pytest.raises(ValueError, match="no such row"):
        wait()


def test_waits_for_no_thread_where_all_are_busy(one_core_free: hnsw.Helpers) -> None:
    go_on = threading.Event()
    busy = one_core_free.begin(go_on.wait)
    assert one_core_free.begin(threading.get_ident)() == threading.get_ident()
    go_on.set()
    assert busy()
    wait = one_core_free.begin(threading.get_ident)
    assert wait() == wait() != threading.get_ident()


def test_goes_on_beside_the_caller(one_core_free: hnsw.Helpers) -> None:
    assert one_core_free.begin(threading.get_ident)() != threading.get_ident()


def test_does_the_work_itself_without_another_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hnsw, "_free_cores", lambda: 0)
    assert hnsw.Helpers().begin(threading.get_ident)() == threading.get_ident()


def test_goes_on_in_a_forked_process(tmp_path: Path) -> None:
    hnsw.begin(threading.get_ident)()  # its threads are there, and not in the child
    assert forked(lambda: hnsw.begin(lambda: "done")(), tmp_path / "result") == "done"
