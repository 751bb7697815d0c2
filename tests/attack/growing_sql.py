"""A grammar of SELECTs that make long values of short ones, and hold them: functions that grow inside each
other, under whatever sorts, groups, tells apart or joins."""

from __future__ import annotations

import random

from asking import Call

_COLUMNS = (
    "name",
    "content",
    "id",
    "key",
    "category",
    "metadata ->> 'tag'",
    "metadata ->> 'long'",
    "CAST(metadata AS text)",
)
_LITERALS = ("'a'", "'aaaaaaaaaa'", f"'{'ab' * 40}'", f"'{'é' * 500}'")
# %s is what grows
_GROWING = (
    "replace(%s, 'a', 'aaaaaaaaaa')", "replace(%s, 'a', 'ab')", "replace(%s, '', 'aaaa')", "upper(%s)", "%s || %s",
    "concat(%s, %s, %s)", "concat_ws('aaaaaaaaaaaaaaaa', %s, id, %s)", "coalesce(%s, 'b')", "CASE WHEN ordinal = 0 THEN %s END",
    "left(%s, 100000)", "trim(%s)", "greatest(%s, 'b')", "substr(%s, 2)", "%s || id", "lower(%s)", "right(%s, 900000)",
)  # fmt: skip
_HOLDING = (
    "SELECT name FROM resources ORDER BY {0}", "SELECT {0} FROM resources ORDER BY {1} DESC LIMIT 900",
    "SELECT id FROM resources ORDER BY {0}, {1} LIMIT 3 OFFSET {offset}", "SELECT count(*) FROM resources GROUP BY {0}",
    "SELECT id FROM resources ORDER BY metadata ->> 'long', name, {0} LIMIT 5 OFFSET {offset}",
    "SELECT category, max({0}), min({1}) FROM resources GROUP BY category ORDER BY 2",
    "SELECT {0}, count(*) FROM resources GROUP BY {0} HAVING max({1}) > 'a' ORDER BY 1",
    "SELECT count(DISTINCT {0}), count(DISTINCT {1}) FROM resources", "SELECT DISTINCT {0} FROM resources",
    "SELECT DISTINCT {0}, {1} FROM resources ORDER BY {0}", "SELECT length(group_concat({0})) FROM resources",
    "SELECT group_concat({0}, '{long}') FROM resources", "SELECT group_concat(DISTINCT {0}) FROM resources",
    "SELECT category, group_concat({0}), group_concat({1}) FROM resources GROUP BY category",
    "SELECT id, group_concat({0}) FILTER (WHERE {1} <> 'b') FROM resources GROUP BY id ORDER BY 2",
    "SELECT max(metadata), min(metadata -> 'long') FROM resources", "SELECT metadata -> 'long', count(*) FROM resources GROUP BY 1",
    "SELECT max(metadata -> 'long') FROM resources GROUP BY name", "SELECT length({0}) FROM resources WHERE {1} > {0}",
    "SELECT {0}, {1}, {0}, {1} FROM resources", "SELECT * FROM resources ORDER BY {0}", "SELECT max({0} || {1}) FROM resources",
    "SELECT {0} FROM resources GROUP BY {0} ORDER BY {0} || {0} || {0} LIMIT 1000",
)  # fmt: skip


def growing(seed: int, count: int) -> list[Call]:
    """So many statements, the same from the same seed."""
    rng = random.Random(seed)
    return [Call("query", (_statement(rng),), family="growing") for _ in range(count)]


def _statement(rng: random.Random) -> str:
    values = [_value(rng, rng.randrange(7)) for _ in range(2)]
    offset = rng.choice((0, 50, 900, 900_000))
    return rng.choice(_HOLDING).format(*values, offset=offset, long="x" * rng.choice((1, 9_000)))


def _value(rng: random.Random, depth: int) -> str:
    if not depth:
        return rng.choice(_COLUMNS if rng.random() < 0.8 else _LITERALS)
    form = rng.choice(_GROWING)
    part = _value(rng, depth - 1)
    return form.replace("%s", f"({part})" if " " in part else part)
