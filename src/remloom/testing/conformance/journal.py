"""The store contract as tests: what is kept beside the records."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from ...errors import ConflictError, InvalidInputError
from ...kv import JournalEntry
from ...model import Entity, Resource
from ...store import validation
from ...store.contract import Batch, Store
from .opening import Opened, Opening, put

__all__ = ["Journaling"]


class Journaling(Opened):
    """What is kept beside the records."""

    def test_a_journal_entry_is_read_back_as_it_was_noted(
        self, store: Store, reopen: Opening
    ) -> None:
        store.note([JournalEntry("run", "r1", b'{"a":"\\u00fc"}', subjects=("b", "a"))])
        store.close()
        again = reopen()
        assert again.journal_entry("run", "r1") == JournalEntry(
            "run", "r1", b'{"a":"\\u00fc"}', ("b", "a"), version=1
        )
        assert again.journal_entry("run", "r2") is None
        assert again.journal_entry("runs", "r1") is None

    def test_a_journal_entry_counts_its_versions_and_starts_anew_after_it_was_struck(
        self, store: Store
    ) -> None:
        for _ in range(3):
            store.note([JournalEntry("run", "r", b"1", version=40)])
        assert [entry.version for entry in store.journal("run")] == [3]
        store.note([JournalEntry("other", "r", b"2")], struck=[("run", "r"), ("run", "never")])
        assert store.journal("run") == []
        store.note([JournalEntry("run", "r", b"3")], struck=[("run", "r")])
        assert [entry.version for entry in store.journal("run")] == [1]

    def test_the_journal_is_listed_by_id_from_either_end_and_in_pages(self, store: Store) -> None:
        store.note([JournalEntry("k", id, b"0") for id in ("b/2", "a/1", "b/10", "ü", "b", "c%_")])
        store.note([JournalEntry("l", "a", b"0")])

        def ids(**asked: Any) -> list[str]:
            return [entry.id for entry in store.journal("k", **asked)]

        assert ids() == ["a/1", "b", "b/10", "b/2", "c%_", "ü"]
        assert ids(newest_first=True, limit=2) == ["ü", "c%_"]
        assert ids(prefix="b/") == ["b/10", "b/2"]
        assert ids(prefix="b/", newest_first=True) == ["b/2", "b/10"]
        assert ids(after="b/10", limit=2) == ["b/2", "c%_"]
        assert ids(after="b/10", newest_first=True) == ["b", "a/1"]
        assert ids(prefix="b", after="b") == ["b/10", "b/2"]
        assert ids(limit=0) == ids(prefix="%") == []

    def test_of_two_that_expect_the_same_version_one_is_told_of_the_conflict(
        self, store: Store
    ) -> None:
        store.note([JournalEntry("lease", "job", b"0")], expect=0)
        with pytest.raises(ConflictError, match="has version 1, not 0"):
            store.note([JournalEntry("lease", "job", b"mine")], struck=[("lease", "job")], expect=0)
        with pytest.raises(InvalidInputError, match="one entry"):
            store.note([], expect=0)
        start, won = threading.Barrier(8), []

        def take(worker: int) -> None:
            start.wait()
            try:
                store.note([JournalEntry("lease", "job", str(worker).encode())], expect=1)
                won.append(str(worker).encode())
            except ConflictError:
                pass

        threads = [threading.Thread(target=take, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [(entry.data, entry.version) for entry in store.journal("lease")] == [(won[0], 2)]
        assert len(won) == 1

    def test_another_store_of_the_tenant_sees_the_journal_and_its_versions(
        self, store: Store, reopen: Opening
    ) -> None:
        other = reopen()
        store.note([JournalEntry("lease", "job", b"0")], expect=0)
        with pytest.raises(ConflictError):
            other.note([JournalEntry("lease", "job", b"1")], expect=0)
        other.note([JournalEntry("lease", "job", b"1")], expect=1)
        assert [entry.data for entry in store.journal("lease")] == [b"1"]

    def test_journal_entries_are_written_with_their_batch_or_not_at_all(self, store: Store) -> None:
        put(store, Entity(id="x", name="Ann"))
        store.note([JournalEntry("parked", "doc", b"0")])
        entry, done = JournalEntry("run", "r", b"0"), (("parked", "doc"),)
        whole = validation.build([Resource(id="y", name="b", content="b")], tenant="t", model="")
        clash = validation.build([Resource(id="x", name="a", content="a")], tenant="t", model="")
        with pytest.raises(ConflictError):
            store.write(Batch(records=clash.records, journal=(entry,), struck=done))
        assert (store.journal("run"), len(store.journal("parked"))) == ([], 1)
        store.write(Batch(records=whole.records, journal=(entry,), struck=done))
        assert (len(store.journal("run")), store.journal("parked")) == (1, [])
        store.write(Batch(journal=(JournalEntry("run", "s", b"1"),)))
        assert [entry.id for entry in store.journal("run")] == ["r", "s"]

    def test_what_speaks_of_a_record_is_struck_when_the_record_is_deleted(
        self, store: Store
    ) -> None:
        put(store, Resource(id="a", name="a", content="a"))
        put(
            store,
            Resource(id="b", name="b", content="b", parents=("a",)),
            Resource(id="c", name="c", content="c"),
        )
        subjects = {
            "of a": ("a",),
            "of b and c": ("b", "c"),
            "of c": ("c", "c"),
            "of none": (),
            "of a ghost": ("z",),
        }
        store.note([JournalEntry("kept", id, b"0", subjects=of) for id, of in subjects.items()])
        store.note([JournalEntry("kept", "changed", b"0", subjects=("a",))])
        store.note([JournalEntry("kept", "changed", b"0", subjects=("c",))])
        assert store.check() == []
        assert store.delete(["a"]).remaining == ()
        assert [entry.id for entry in store.journal("kept")] == [
            "changed",
            "of a ghost",
            "of c",
            "of none",
        ]
        store.write(
            Batch(
                removed=("c", "z"), journal=(JournalEntry("kept", "after", b"0", subjects=("c",)),)
            )
        )
        assert [entry.id for entry in store.journal("kept")] == ["after", "of none"]
        assert store.check() == []

    def test_stats_count_the_journal_by_kind(self, store: Store) -> None:
        assert store.stats()["journal"] == {}
        store.note(
            [
                JournalEntry("run", "1", b"0"),
                JournalEntry("usage", "1", b"0"),
                JournalEntry("usage", "2", b"0"),
            ]
        )
        assert store.stats()["journal"] == {"run": 1, "usage": 2}

    @pytest.mark.parametrize(("kind", "id"), [("", "a"), ("a", ""), ("a", "b\0")])
    def test_a_journal_entry_has_a_kind_and_an_id(self, kind: str, id: str) -> None:
        with pytest.raises(InvalidInputError):
            JournalEntry(kind, id, b"0")
