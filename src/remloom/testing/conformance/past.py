"""The store contract as tests: what entities were."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ... import labels
from ...errors import NotFoundError
from ...model import Entity
from ...store import history
from ...store.contract import Store
from .opening import DAY, T0, Opened, names, put
from .schemas import RecordSchema


class Past(Opened):
    """What entities were."""

    def test_an_entity_is_found_as_it_was_at_any_time(self, store: Store) -> None:
        steps = [
            Entity(
                id="e",
                name="Sarah Chen",
                type="person",
                properties={"age": 40, "team": "data"},
                created_at=T0,
            ),
            Entity(id="e", name="Sarah Chen", type="person", properties={"age": 41, "dog": None}),
            Entity(
                id="e",
                name="Sarah Miller",
                type="person",
                aliases=("S. M.",),
                summary="Leads.",
                properties={},
            ),
            Entity(id="e", name="Sarah Miller", type="boss", properties={"age": True}),
        ]
        times = []
        for step in steps:
            put(store, step)
            times.append(datetime.now(UTC))
        now = store.records.get("entities", "e")
        assert isinstance(now, Entity)
        for step, at in zip(steps, times, strict=True):
            was = history.entity_at(store, now, at)
            assert was is not None
            assert _shown(was) == _shown(step)
            for key in ("sarah-chen", "sarah-miller", "s.-m."):
                found = history.lookup_at(store, [key], at)[key]
                step_keys = {labels.key(name) for name in (step.name, *step.aliases)}
                assert bool(found) == (key in step_keys)
                shown = [_shown(entity) for entity in found if isinstance(entity, Entity)]
                assert shown == [_shown(step)] * len(found)
        assert history.entity_at(store, now, T0 + DAY) is not None
        assert history.entity_at(store, now, T0 - DAY) is None
        changed = [step["changed"] for step in history.list_changes(store, now)]
        assert changed[1]["name"] == {"from": "Sarah Chen", "to": "Sarah Miller"}
        assert changed[2]["properties"] == {
            "age": {"from": 40, "to": 41},
            "team": {"from": "data", "to": None},
            "dog": {"from": None, "to": None},
        }

    def test_writing_what_is_there_already_is_no_change(self, store: Store) -> None:
        for _ in range(3):
            put(
                store,
                Entity(id="e", name="A", properties={"n": 1, "deep": {"b": 1, "a": [1, 2.5]}}),
            )
        found = store.records.get("entities", "e")
        assert isinstance(found, Entity)
        assert list(history.changes(store, "e")) == []

    def test_what_an_entity_was_goes_with_it(self, store: Store) -> None:
        # "e/" begins like the keys under which the changes of "e" are stored
        put(store, Entity(id="e", name="A", summary="secret one"), Entity(id="e/", name="B"))
        put(
            store,
            Entity(id="e", name="C", summary="secret two"),
            Entity(id="e/", name="B", summary="x"),
        )
        assert (
            len(list(history.changes(store, "e"))) == len(list(history.changes(store, "e/"))) == 1
        )
        store.delete(["e"])
        kinds = store.admin.stats().entries
        assert kinds.get(history.CHANGE) == 1
        assert history.NAME not in kinds
        assert history.lookup_at(store, ["a"], datetime.now(UTC)) == {"a": []}

    def test_of_very_many_changes_the_newest_are_kept_and_the_others_said_to_be_gone(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        times = []
        # fewer than the number of changes below
        monkeypatch.setattr(history, "KEPT", 3)
        for n in range(6):
            put(store, Entity(id="e", name="A", properties={"n": n}))
            times.append(datetime.now(UTC))
        now = store.records.get("entities", "e")
        assert isinstance(now, Entity)
        kept = [history.entity_at(store, now, at) for at in times[3:]]
        assert [entity and entity.properties["n"] for entity in kept] == [3, 4, 5]
        with pytest.raises(NotFoundError, match="not kept any more"):
            history.entity_at(store, now, times[1])

    def test_a_resource_is_there_once_it_was_written(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make(name="r", text="text", created_at=T0))
        assert names(history.lookup_at(store, ["r"], T0)["r"]) == ["r"]
        assert history.lookup_at(store, ["r"], T0 - DAY)["r"] == []

    def test_one_and_true_are_two_values(self, store: Store) -> None:
        put(store, Entity(id="e", name="A", properties={"n": 1}))
        put(store, Entity(id="e", name="A", properties={"n": True}))
        found = store.records.get("entities", "e")
        assert isinstance(found, Entity)
        assert found.properties["n"] is True


def _shown(entity: Entity) -> tuple[object, ...]:
    return entity.name, entity.type, entity.aliases, entity.summary, entity.properties
