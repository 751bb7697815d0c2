"""The store contract as tests: the entries with the records."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from ...errors import ChangedError, ConflictError, InvalidInputError
from ...kv import Entry, KeyRange
from ...model import Entity, Resource
from ...store.batch import Batch
from ...store.contract import Store
from ...store.rules import validation
from .opening import Opened, Opening, RecordSchema, put, together


class EntryCases(Opened):
    def test_an_entry_is_read_back_as_it_was_put(self, store: Store, reopen: Opening) -> None:
        store.kv.put([Entry("run", "r1", b'{"a":"\\u00fc"}', refs=("b", "a"))])
        store.close()
        again = reopen()
        assert again.kv.get("run", "r1") == Entry(
            "run", "r1", b'{"a":"\\u00fc"}', ("b", "a"), version=1
        )
        assert again.kv.get("run", "r2") is None
        assert again.kv.get("runs", "r1") is None

    def test_an_entry_counts_its_versions_and_starts_anew_after_it_was_deleted(
        self, store: Store
    ) -> None:
        for _ in range(3):
            # the version of a written entry is the count of its writes, whatever is given
            store.kv.put([Entry("run", "r", b"1", version=40)])
        assert [entry.version for entry in store.kv.list("run")] == [3]
        store.kv.put([Entry("other", "r", b"2")], deleted=[("run", "r"), ("run", "never")])
        assert store.kv.list("run") == []
        store.kv.put([Entry("run", "r", b"3")], deleted=[("run", "r")])
        assert [entry.version for entry in store.kv.list("run")] == [1]

    def test_entries_are_listed_by_key_from_either_end_and_in_pages(self, store: Store) -> None:
        # with the characters that a LIKE pattern would take for wildcards
        store.kv.put([Entry("k", key, b"0") for key in ("b/2", "a/1", "b/10", "ü", "b", "c%_")])
        store.kv.put([Entry("l", "a", b"0")])

        def keys(**within: Any) -> list[str]:
            return [entry.key for entry in store.kv.list("k", KeyRange(**within))]

        assert keys() == ["a/1", "b", "b/10", "b/2", "c%_", "ü"]
        assert keys(newest_first=True, limit=2) == ["ü", "c%_"]
        assert keys(prefix="b/") == ["b/10", "b/2"]
        assert (store.kv.count("k"), store.kv.count("k", "b/"), store.kv.count("m")) == (6, 2, 0)
        assert keys(prefix="b/", newest_first=True) == ["b/2", "b/10"]
        assert keys(after="b/10", limit=2) == ["b/2", "c%_"]
        assert keys(after="b/10", newest_first=True) == ["b", "a/1"]
        assert keys(prefix="b", after="b") == ["b/10", "b/2"]
        assert keys(limit=0) == keys(prefix="%") == []

    def test_entries_are_found_by_what_they_are_about(self, store: Store) -> None:
        refs = {"b": ("x", "y"), "a": ("x",), "c": ("z",), "d": ()}
        store.kv.put([Entry("k", key, b"1", refs=about) for key, about in refs.items()])
        store.kv.put([Entry("l", "a", b"1", refs=("x",))])
        assert [entry.key for entry in store.kv.about("k", ["y", "x", "none"])] == ["a", "b"]
        assert store.kv.about("k", ["b"]) == store.kv.about("k", []) == []

    def test_an_entry_is_put_only_while_others_have_the_versions_that_are_expected(
        self, store: Store
    ) -> None:
        store.kv.put([Entry("watch", "w", b"1")])
        store.kv.put([Entry("k", "a", b"1")], expected_entries={("watch", "w"): 1})
        store.kv.put([Entry("watch", "w", b"2")])
        with pytest.raises(ChangedError):
            store.kv.put([Entry("k", "b", b"1")], expected_entries={("watch", "w"): 1})
        assert [entry.key for entry in store.kv.list("k")] == ["a"]

    def test_of_two_that_expect_the_same_version_one_is_told_of_the_conflict(
        self, store: Store
    ) -> None:
        store.kv.put([Entry("lease", "job", b"0")], expected_version=0)
        with pytest.raises(ConflictError, match="has version 1, not 0"):
            store.kv.put(
                [Entry("lease", "job", b"mine")], deleted=[("lease", "job")], expected_version=0
            )
        with pytest.raises(InvalidInputError, match="one entry"):
            store.kv.put([], expected_version=0)
        won = []

        def take(worker: int) -> None:
            with suppress(ConflictError):
                store.kv.put([Entry("lease", "job", str(worker).encode())], expected_version=1)
                won.append(str(worker).encode())

        together(8, take)
        assert [(entry.value, entry.version) for entry in store.kv.list("lease")] == [(won[0], 2)]
        assert len(won) == 1

    def test_another_store_of_the_tenant_sees_the_entries_and_their_versions(
        self, store: Store, reopen: Opening
    ) -> None:
        other = reopen()
        store.kv.put([Entry("lease", "job", b"0")], expected_version=0)
        with pytest.raises(ConflictError):
            other.kv.put([Entry("lease", "job", b"1")], expected_version=0)
        other.kv.put([Entry("lease", "job", b"1")], expected_version=1)
        assert [entry.value for entry in store.kv.list("lease")] == [b"1"]

    def test_entries_are_written_with_their_batch_or_not_at_all(self, store: Store) -> None:
        put(store, Entity(id="x", name="Ann"))
        store.kv.put([Entry("parked", "doc", b"0")])
        entry, done = Entry("run", "r", b"0"), (("parked", "doc"),)
        whole = validation.build([Resource(id="y", name="b", content="b")], tenant="t", model="")
        # an id of another schema, so that the whole batch is refused
        clash = validation.build([Resource(id="x", name="a", content="a")], tenant="t", model="")
        with pytest.raises(ConflictError):
            store.write(Batch(records=clash.records, entries=(entry,), deleted_entries=done))
        assert (store.kv.list("run"), len(store.kv.list("parked"))) == ([], 1)
        store.write(Batch(records=whole.records, entries=(entry,), deleted_entries=done))
        assert (len(store.kv.list("run")), store.kv.list("parked")) == (1, [])
        store.write(Batch(entries=(Entry("run", "s", b"1"),)))
        assert [entry.key for entry in store.kv.list("run")] == ["r", "s"]

    def test_what_speaks_of_a_record_is_deleted_when_the_record_is_deleted(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make("a", "a", id="a"))
        put(
            store,
            Resource(id="b", name="b", content="b", parents=("a",)),
            schema.make("c", "c", id="c"),
        )
        refs = {
            "of a": ("a",),
            "of b and c": ("b", "c"),
            "of c": ("c", "c"),
            "of none": (),
            "of a ghost": ("z",),
        }
        store.kv.put([Entry("kept", key, b"0", refs=of) for key, of in refs.items()])
        store.kv.put([Entry("kept", "changed", b"0", refs=("a",))])
        store.kv.put([Entry("kept", "changed", b"0", refs=("c",))])
        assert store.admin.check() == []
        assert store.delete(["a"]).remaining == ()
        assert [entry.key for entry in store.kv.list("kept")] == [
            "changed",
            "of a ghost",
            "of c",
            "of none",
        ]
        store.write(Batch(deleted=("c", "z"), entries=(Entry("kept", "after", b"0", refs=("c",)),)))
        assert [entry.key for entry in store.kv.list("kept")] == ["after", "of none"]

    def test_stats_count_the_entries_by_namespace(self, store: Store) -> None:
        assert store.admin.stats().entries == {}
        store.kv.put(
            [Entry("run", "1", b"0"), Entry("usage", "1", b"0"), Entry("usage", "2", b"0")]
        )
        assert store.admin.stats().entries == {"run": 1, "usage": 2}

    @pytest.mark.parametrize(("namespace", "key"), [("", "a"), ("a", ""), ("a", "b\0")])
    def test_an_entry_has_a_namespace_and_a_key(self, namespace: str, key: str) -> None:
        with pytest.raises(InvalidInputError):
            Entry(namespace, key, b"0")
