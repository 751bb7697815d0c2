"""The types of operations are such as msgspec can free."""

import types
import typing
from typing import Annotated, Union

import pytest
from msgspec import Meta, Struct
from msgspec.structs import fields

from remloom.operations import OPERATIONS, TOOLS


def parts(hint, seen):
    """Yield a type, and those that it is made of."""
    yield hint
    if isinstance(hint, type) and issubclass(hint, Struct):
        if hint in seen:
            return
        seen.add(hint)
        inner = [field.type for field in fields(hint)]
    else:
        inner = [part for part in typing.get_args(hint) if not isinstance(part, str | Meta)]
    for part in inner:
        yield from parts(part, seen)


def base(hint):
    return typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint


def has_pattern(hint):
    return typing.get_origin(hint) is Annotated and any(
        isinstance(bound, Meta) and bound.pattern for bound in hint.__metadata__
    )


# msgspec 0.22 frees the pattern as if it were a type: whoever else has it reads what is gone
@pytest.mark.parametrize("operation", [*OPERATIONS, *TOOLS], ids=lambda one: one.takes.__name__)
def test_no_text_with_a_pattern_stands_beside_a_list_or_an_object(operation):
    for hint in parts(operation.takes, set()):
        if typing.get_origin(hint) in (Union, types.UnionType):
            choices = typing.get_args(hint)
            holds = any(typing.get_origin(base(one)) in (list, dict, tuple) for one in choices)
            assert not (holds and any(map(has_pattern, choices))), hint
