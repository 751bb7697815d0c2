"""Work begun beside the caller: done once, wherever it is done."""

import threading
from pathlib import Path

import pytest

from forked_work import forked
from remloom.store.indexes import spare_threads


@pytest.fixture
def one_core_free(monkeypatch: pytest.MonkeyPatch) -> spare_threads.Helpers:
    monkeypatch.setattr(spare_threads, "_free_cores", lambda: 1)
    return spare_threads.Helpers()


def test_gives_what_the_work_returns() -> None:
    begun = [spare_threads.begin(lambda number=number: number * 2) for number in range(50)]
    assert [wait() for wait in begun] == [number * 2 for number in range(50)]


def test_raises_what_the_work_raises_when_it_is_asked_for() -> None:
    def fail() -> None:
        raise ValueError("no such row")

    wait = spare_threads.begin(fail)
    with pytest.raises(ValueError, match="no such row"):
        wait()


def test_waits_for_no_thread_where_all_are_busy(one_core_free: spare_threads.Helpers) -> None:
    go_on = threading.Event()
    busy = one_core_free.begin(go_on.wait)
    assert one_core_free.begin(threading.get_ident)() == threading.get_ident()
    go_on.set()
    assert busy()
    wait = one_core_free.begin(threading.get_ident)
    assert wait() == wait() != threading.get_ident()


def test_goes_on_beside_the_caller(one_core_free: spare_threads.Helpers) -> None:
    assert one_core_free.begin(threading.get_ident)() != threading.get_ident()


def test_does_the_work_itself_without_another_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spare_threads, "_free_cores", lambda: 0)
    assert spare_threads.Helpers().begin(threading.get_ident)() == threading.get_ident()


def test_goes_on_in_a_forked_process(tmp_path: Path) -> None:
    spare_threads.begin(threading.get_ident)()  # its threads are there, and not in the child
    assert forked(lambda: spare_threads.begin(lambda: "done")(), tmp_path / "result") == "done"
