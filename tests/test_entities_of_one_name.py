"""What a label means does not depend on which of its meanings was written first."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from remloom import Entity, Memory
from remloom.errors import AmbiguousLabelError


@pytest.mark.parametrize(
    ("types", "meant"),
    [
        (("", "planet", "god"), {"planet", "god"}),
        (("person", "person/employee", "person/manager"), {"person/employee", "person/manager"}),
        (("", "person", "person/employee"), {"person/employee"}),
    ],
)
def test_a_label_of_several_meanings_is_refused_in_whatever_order_they_were_written(
    tmp_path: Path, types: tuple[str, ...], meant: set[str]
) -> None:
    for number, order in enumerate(permutations(types)):
        with Memory.open(tmp_path, tenant=f"t{number}", embedder="none") as memory:
            memory.write([Entity(id=f"id-{type}", name="Mercury", type=type) for type in order])
            if len(meant) == 1:
                assert memory.lookup("Mercury").meanings == {}
                assert memory.forget("Mercury").records == len(types)
                continue
            (meanings,) = memory.lookup("Mercury").meanings.values()
            assert {meaning.type for meaning in meanings} == meant
            with pytest.raises(AmbiguousLabelError):
                memory.forget("Mercury")
            assert len(memory.lookup("Mercury").records) == len(types)
