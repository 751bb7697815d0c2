"""JSON by operators: ->, ->>, #>, #>>, @>, <@, && and ?."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .comparisons import MAX_LISTED
from .containment import contains, has_key, overlaps
from .nodes import NodeReader, strip_brackets
from .paths import Steps, extend_path, parse_path
from .values import Expression, Value

if TYPE_CHECKING:
    from sqlglot import exp

    from .expressions import ExpressionReader


# What the parser notes of an arrow that changes nothing here.
_HARMLESS = ("only_json_types", "json_subtype", "scalar_only", "requires_json", "json_type")
_ARROWS = ("JSONExtract", "JSONExtractScalar", "JSONBExtract", "JSONBExtractScalar")


def _read_arrow(read: ExpressionReader, node: exp.Expression) -> Expression:
    """A value within JSON, by an arrow or json_extract."""
    from sqlglot import exp

    read.allow_only(node, "this", "expression", *_HARMLESS)
    path = strip_brackets(node.expression)
    if isinstance(path, exp.Neg) and isinstance(path.this, exp.Literal):
        steps: Steps = (-int(path.this.name[:9]),)
    elif isinstance(path, exp.Literal):
        # `#>` and `#>>`, whose paths are PostgreSQL's lists
        braces = type(node).__name__.startswith("JSONB")
        steps = parse_path(path.name, number=not path.is_string, braces=braces)
    else:
        steps = _read_parsed_path(read, path, node)
    return extend_path(read.value(node.this), steps)


def _read_parsed_path(read: ExpressionReader, path: Any, node: Any) -> Steps:
    """The steps of a path that the parser has read already: one, as it does for the operators."""
    from sqlglot import exp

    parts = path.expressions[1:] if isinstance(path, exp.JSONPath) else []
    step = parts[0].this if len(parts) == 1 else None
    if isinstance(step, str) and isinstance(parts[0], exp.JSONPathKey):
        return parse_path(step)
    if isinstance(step, int) and isinstance(parts[0], exp.JSONPathSubscript):
        return (step,)
    return read.refuse("a place in JSON is a literal", node, "metadata ->> 'page'")


def _read_containment(read: ExpressionReader, node: Any) -> Expression:
    read.allow_only(node, "this", "expression")
    whole, part = node.this, node.expression
    # the operator the other way round
    if type(node).__name__ == "ArrayContainedBy":
        whole, part = part, whole
    return contains(read.value(whole), _read_needle(read, part, node))


def _read_overlap(read: ExpressionReader, node: Any) -> Expression:
    read.allow_only(node, "this", "expression")
    needle = _read_needle(read, node.expression, node)
    needles = needle if isinstance(needle, list) else [needle]
    return overlaps(read.value(node.this), needles)


def _read_needle(read: ExpressionReader, node: Any, whole: Any) -> Value | list[Value]:
    """Read what is looked for in JSON: a literal, or the literals of an ARRAY."""
    from sqlglot import exp

    node = strip_brackets(node)
    # '["x"]'::jsonb
    while isinstance(node, exp.Cast):
        inner = strip_brackets(node.this)
        if not isinstance(inner, exp.Literal | exp.Array):
            break
        node = inner
    if isinstance(node, exp.Array | exp.Tuple):
        listed = [read.value(part) for part in node.expressions]
        literals = [part for part in listed if isinstance(part, Value)]
        if len(listed) > MAX_LISTED or len(literals) < len(listed):
            read.refuse(
                f"an ARRAY is of literals here, at most {MAX_LISTED:,}",
                whole,
                "topic_tags && ARRAY['a', 'b']",
            )
        return literals
    value = read.value(node)
    if not isinstance(value, Value):
        read.refuse("what is looked for is a literal", whole, "topic_tags @> ARRAY['pricing']")
    return value


def _read_key_test(read: ExpressionReader, node: Any) -> Expression:
    read.allow_only(node, "this", "expression")
    key = read.value(node.expression)
    if not isinstance(key, Value) or key.type != "text":
        read.refuse("? takes a key that is a literal", node, "metadata ? 'page'")
    return has_key(read.value(node.this), key)


READERS: dict[str, NodeReader] = {
    "ArrayContainedBy": _read_containment,
    "ArrayContainsAll": _read_containment,
    "ArrayOverlaps": _read_overlap,
    "JSONBContainsTopKey": _read_key_test,
    **dict.fromkeys(_ARROWS, _read_arrow),
}
