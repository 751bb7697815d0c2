"""The semantics of the REM dialect as data: case files, and a function that runs one case.

A case file (`cases/*.json`) is an object:

* `about`: one line.
* `given`: `records` (objects with `schema` and the fields of that model), `edges` and `later` (more
  records); written into an empty memory in this order before the first case. No case of a file
  changes it.
* `cases`: objects with `name`, a `statement` (text) or a `value` (`[query_type, parameters]`, as
  `rem_query` takes them), and either
    * `result`: what the answer must show, or
    * `error`: `type` (the error's class), and optionally `says` (texts its message has) and
      `position`.

What a case expects of an answer is matched against `Answer.as_dict()` with `query_type`,
`statement` (canonical), `names` (of the records or nodes, in order) and `suggested` (names of the
suggestions) added:

* an object: every key in it matches; other keys of the answer do not matter;
* a list: as many elements, each matching in turn;
* `{"$unordered": [...]}`: a list with these elements in any order;
* `{"$contains": x}`: a text with x in it, or a list with an element that matches x;
* `{"$least": n, "$most": n}`: a number in this range;
* anything else: equal (numbers within 1e-6).

Every statement is also parsed, written as canonical text and parsed again, which must give the same
value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ..errors import RemloomError
from ..model import Answer, Edge, Row, SchemaDefinition
from ..store.encoding import SCHEMAS

if TYPE_CHECKING:
    from ..memory import Memory


CASES = Path(__file__).with_name("cases")


class ExpectedError(Struct, frozen=True, forbid_unknown_fields=True):
    """The error a case expects."""

    type: str
    says: tuple[str, ...] = ()
    position: int | None = None


class DialectCase(Struct, frozen=True, forbid_unknown_fields=True):
    """One statement, and its result or its error."""

    name: str
    statement: str | None = None
    value: tuple[str, dict[str, Any] | None] | None = None
    result: dict[str, Any] | None = None
    error: ExpectedError | None = None


class Given(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the memory before the first case."""

    schemas: tuple[SchemaDefinition, ...] = ()  # registered first
    # each with the `schema` it is of
    records: tuple[dict[str, Any], ...] = ()
    edges: tuple[Edge, ...] = ()
    later: tuple[dict[str, Any], ...] = ()  # written over the records


class CaseFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The cases that share one memory."""

    about: str
    cases: tuple[DialectCase, ...]
    given: Given = Given()


def load(folder: Path = CASES) -> dict[str, CaseFile]:
    """Load every case file of a folder, by its name without `.json`."""
    decoder = msgspec.json.Decoder(CaseFile)
    return {path.stem: decoder.decode(path.read_bytes()) for path in sorted(folder.glob("*.json"))}


def prepare(memory: Memory, given: Given) -> None:
    """Write the records and edges of a case file into an empty memory."""
    for schema in given.schemas:
        memory.schemas.register(schema)
    memory.write([*map(_record, given.records), *given.edges])
    memory.write(map(_record, given.later))


def _record(fields: dict[str, Any]) -> Any:
    kind = SCHEMAS.get(fields["schema"], Row)
    values = {name: value for name, value in fields.items() if name != "schema"}
    if kind is Row:
        values["schema_name"] = fields["schema"]
    return msgspec.convert(values, kind)


def check(memory: Memory, case: DialectCase) -> None:
    """Run a case. Raises AssertionError with the expected answer and the actual one."""
    from ..query.parser import parse
    from ..query.render import render

    assert (case.statement is None) != (case.value is None), (
        f"{case.name}: a case has a statement or a value"
    )
    assert (case.result is None) != (case.error is None), (
        f"{case.name}: a case has a result or an error"
    )
    try:
        if case.statement is not None:
            parsed = parse(case.statement)
            # the canonical text of a statement must mean the same
            assert parse(render(parsed)) == parsed, f"{render(parsed)!r} means something else"
            answer = memory.query(case.statement)
        else:
            assert case.value is not None
            answer = memory.rem_query(*case.value)
    except RemloomError as error:
        # an error that no case expects is raised as it is, with its traceback
        if case.error is None:
            raise
        _check_error(error, case.error)
        return
    assert case.result is not None, (
        f"expected {case.error}, but there was an answer: {shown(answer)}"
    )
    _match(case.result, shown(answer), "answer")


def shown(answer: Answer) -> dict[str, Any]:
    """Give an answer in the form that cases match against."""
    named = answer.nodes or answer.records
    return answer.as_dict() | {
        "query_type": answer.query_type,
        "statement": answer.statement,
        "names": [thing["name"] if isinstance(thing, dict) else thing.name for thing in named],
        "suggested": [hit.name for hit in answer.suggestions],
    }


def _check_error(error: RemloomError, expected: ExpectedError) -> None:
    assert type(error).__name__ == expected.type, (
        f"expected {expected.type}, got {type(error).__name__}: {error}"
    )
    for text in expected.says:
        assert text in str(error), f"{text!r} is not in the message: {error}"
    if expected.position is not None:
        position = error.fields["position"]
        assert position == expected.position, (
            f"expected position {expected.position}, got {position}: {error}"
        )


def _match(expected: Any, found: Any, where: str) -> None:
    problem = f"{where}: expected {expected!r}, found {found!r}"
    if isinstance(expected, dict) and any(key.startswith("$") for key in expected):
        for operator, operand in expected.items():
            _OPERATORS[operator](operand, found, where)
    elif isinstance(expected, dict):
        assert isinstance(found, dict), problem
        for key, value in expected.items():
            assert key in found, f"{where}: no {key!r} in {sorted(found)}"
            _match(value, found[key], f"{where}.{key}")
    elif isinstance(expected, list):
        assert isinstance(found, list | tuple), problem
        assert len(expected) == len(found), problem
        for index, (value, other) in enumerate(zip(expected, found, strict=True)):
            _match(value, other, f"{where}[{index}]")
    elif isinstance(expected, float) and isinstance(found, int | float):
        assert math.isclose(expected, found, abs_tol=1e-6), problem
    else:
        assert expected == found, problem
        # 1 == True in Python, but not in JSON
        assert isinstance(expected, bool) == isinstance(found, bool), problem


def _fits(expected: Any, found: Any) -> bool:
    try:
        _match(expected, found, "")
    except AssertionError:
        return False
    return True


def _unordered(expected: list[Any], found: Any, where: str) -> None:
    left = list(found)
    for value in expected:
        # each element stands for one expected value, so the first that fits is used up
        position = next((index for index, other in enumerate(left) if _fits(value, other)), None)
        assert position is not None, f"{where}: {value!r} is not among {found!r}"
        del left[position]
    assert not left, f"{where}: {left!r} was not expected"


def _contains(expected: Any, found: Any, where: str) -> None:
    if isinstance(found, str):
        inside = expected in found
    else:
        inside = any(_fits(expected, other) for other in found)
    assert inside, f"{where}: {expected!r} is not in {found!r}"


def _least(least: float, found: Any, where: str) -> None:
    assert found >= least, f"{where}: {found!r} is less than {least!r}"


def _most(most: float, found: Any, where: str) -> None:
    assert found <= most, f"{where}: {found!r} is more than {most!r}"


_OPERATORS: dict[str, Callable[[Any, Any, str], None]] = {
    "$unordered": _unordered,
    "$contains": _contains,
    "$least": _least,
    "$most": _most,
}
