"""The functions that SQL may call: what they are called, what they take and give, and how each
store writes them.

A function that is not in this table does not exist. `{0}`, `{1}`, … stand for its arguments as the
store writes them, `{all}` for all of them. None makes more of its input than it says, whatever it
is given.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, TypeAlias

from msgspec import Struct

from .values import Type

__all__ = ["AGGREGATES", "FUNCTIONS", "Argument", "Function", "find", "known", "table"]

# `text…` is a literal: what is looked for, cut off or put in must be bounded before a row is read.
# `one` stands for any type, the same for all arguments that say so; `…` after the last means any
# number of them. A `?` may be left out.
Argument: TypeAlias = str
Growth: TypeAlias = Literal["fixed", "input", "sum", "replaced"]
_GROWTH = {
    "fixed": "a few characters or a number",
    "input": "no longer than its input",
    "sum": "its inputs together",
    "replaced": "its input, as many times as the new text is longer than the old",
}


class Function(Struct, frozen=True):
    """One of them."""

    name: str
    takes: tuple[Argument, ...]
    gives: Type | Literal["one"]
    sqlite: str
    postgres: str
    says: str
    growth: Growth = "fixed"
    also: tuple[str, ...] = ()  # other names of it


_C = ' COLLATE "C"'
FUNCTIONS = (
    # texts
    Function("lower", ("text",), "text", "lowered({0})", f'lower({{0}} COLLATE "default"){_C}',
             "in small letters, of any alphabet", "input"),
    Function("upper", ("text",), "text", "uppered({0})", f'upper({{0}} COLLATE "default"){_C}',
             "in capital letters", "input"),
    Function("length", ("text",), "integer", "length({0})", "length({0})", "its characters",
             also=("char_length", "character_length", "len")),
    Function("trim", ("text", "text…?"), "text", "trim({all})", f"btrim({{all}}){_C}",
             "without spaces, or these characters, at its ends", "input", ("btrim",)),
    Function("ltrim", ("text", "text…?"), "text", "ltrim({all})", f"ltrim({{all}}){_C}",
             "without them at its beginning", "input"),
    Function("rtrim", ("text", "text…?"), "text", "rtrim({all})", f"rtrim({{all}}){_C}",
             "without them at its end", "input"),
    Function("left", ("text", "integer…"), "text", "substr({0}, 1, {1})", f'"left"({{0}}, {{1}}::integer){_C}',
             "its first characters", "input"),
    Function("right", ("text", "integer…"), "text", "substr({0}, -{1})", f'"right"({{0}}, {{1}}::integer){_C}',
             "its last characters", "input"),
    Function("substr", ("text", "integer…", "integer…?"), "text", "substr({all})", f"substr({{all}}){_C}",
             "from a place on, counted from 1, or from the end if negative; so many characters", "input",
             ("substring", "mid")),
    Function("replace", ("text", "text…", "text…"), "text", "replace({all})", f"replace({{all}}){_C}",
             "with a text put in the place of another", "replaced"),
    Function("instr", ("text", "text…"), "integer", "instr({all})", "strpos({all})",
             "where a text first stands in it, from 1; 0 if nowhere", also=("strpos", "position", "str_position")),
    Function("concat", ("text", "…"), "text", "concat({all})", f"concat({{all}}){_C}",
             "one after the other; `||` is NULL if one of them is", "sum"),
    Function("concat_ws", ("text…", "text", "…"), "text", "concat_ws({all})", f"concat_ws({{all}}){_C}",
             "one after the other, with a text between them", "sum"),
    # any type
    Function("coalesce", ("one", "…"), "one", "coalesce({all})", "coalesce({all})", "the first that is not NULL",
             "input", ("ifnull", "nvl")),
    Function("nullif", ("one", "one"), "one", "nullif({all})", "nullif({all})",
             "NULL if both are equal, else the first", "input"),
    Function("greatest", ("one", "…"), "one", "greatest({all})", "greatest({all})", "the greatest that is not NULL",
             "input"),
    Function("least", ("one", "…"), "one", "least({all})", "least({all})", "the least that is not NULL", "input"),
    # numbers
    Function("abs", ("real",), "one", "abs({0})", "abs({0})", "without its sign"),
    Function("round", ("real", "integer…?"), "real", "rounded({0}, {1})", "remloom.rounded({0}, {1}::integer)",
             "to so many places (0), halves away from zero"),
    Function("floor", ("real",), "real", "floor({0})", "floor({0})", "the whole number below"),
    Function("ceil", ("real",), "real", "ceil({0})", "ceil({0})", "the whole number above", also=("ceiling",)),
    Function("sign", ("real",), "integer", "sign({0})", "sign({0})::bigint", "-1, 0 or 1"),
    # times
    Function("date_trunc", ("unit…", "time"), "time", "time_trunc({all})", "remloom.time_trunc({all})",
             "the beginning of its second, minute, hour, day, week, month, quarter or year", also=("timestamp_trunc",)),
    Function("extract", ("unit…", "time"), "integer", "time_part({all})", "remloom.time_part({all})",
             "a part of it: `extract(year FROM starts_at)`; also microsecond, dow (0: Sunday), isodow, doy, epoch",
             also=("date_part", "year", "quarter", "month", "week", "day", "hour", "minute", "second")),
    Function("strftime", ("text…", "time"), "text", "time_format({all})", "",
             "written so: %Y %m %d %H %M %S %j %w %f %s %F %T %R"),
    Function("date", ("time",), "date", "time_trunc('day', {0})", "remloom.time_trunc('day', {0})", "its day"),
    Function("datetime", ("time",), "time", "time_trunc('second', {0})", "remloom.time_trunc('second', {0})",
             "to the second; `datetime('now', '-7 days')` shifts it, as `now() - interval '7 days'` does"),
    Function("time", ("time",), "text", "time_format('%T', {0})", "", "its time of day"),
    Function("unixepoch", ("time",), "integer", "floored({0}, 1000000)",
             "floor({0} / 1000000.0)::bigint", "its seconds since 1970"),
    Function("julianday", ("time",), "real", "({0} / 86400000000.0 + 2440587.5)",
             "({0}::float8 / 86400000000.0::float8 + 2440587.5::float8)",
             "its days since noon in Greenwich on November 24, 4714 BC"),
    Function("now", (), "time", "", "", "the time at which the statement is run",
             also=("current_timestamp", "localtimestamp", "statement_timestamp", "transaction_timestamp")),
    Function("current_date", (), "date", "", "", "its day"),
    # JSON
    Function("json_extract", ("json", "text…"), "json", "", "",
             "what stands there, as by `->>`: `$.key`, `$[0]`, `$[0].key`",
             "input", ("jsonb_extract_path_text", "json_extract_path_text", "jsonb_extract_path", "json_extract_path")),
    Function("json_array_length", ("json",), "integer", "", "", "the elements of a list; 0 of anything else",
             also=("jsonb_array_length", "cardinality", "array_length")),
    Function("json_typeof", ("json",), "text", "", "", "object, array, string, number, boolean or null",
             also=("jsonb_typeof", "json_type", "typeof")),
    # conditions
    Function("contains", ("one", "text…"), "boolean", "", "",
             "a list has this element, an object these keys and values, a text this text in it, whatever its case"),
    Function("has_any", ("json", "text…", "…"), "boolean", "", "",
             "a list has one of these elements; also `list && ARRAY['a', 'b']`"),
    Function("starts_with", ("text", "text…"), "boolean", "", "", "it begins so"),
    Function("ends_with", ("text", "text…"), "boolean", "", "", "it ends so"),
    Function("regexp_like", ("text", "text…", "text…?"), "boolean", "", "",
             "a regular expression matches somewhere in it; `i` as the third for any case; also `~`, `~*`, `REGEXP`",
             also=("matches",)),
    Function("iif", ("boolean", "one", "one"), "one", "", "", "the one if it holds, else the other", "input", ("if",)),
)  # fmt: skip

AGGREGATES = (
    Function("count", ("one?",), "integer", "count({0})", "count({0})", "the rows, or those where it is not NULL"),
    Function("sum", ("real",), "one", "sum({0})", "sum({0})", "the sum; NULL of no rows"),
    Function("total", ("real",), "real", "total({0})", "coalesce(sum({0}), 0)", "the sum; 0 of no rows"),
    Function("avg", ("real",), "real", "avg({0})", "avg({0})", "the mean"),
    Function("min", ("one",), "one", "min({0})", "min({0})", "the least", "input"),
    Function("max", ("one",), "one", "max({0})", "max({0})", "the greatest", "input"),
    Function("group_concat", ("text", "text…?"), "text", "", "",
             "all of them, with a comma or this text between them, as written",
             "sum", ("string_agg",)),
)  # fmt: skip


@cache
def _by_name() -> dict[str, Function]:
    return {
        name: function
        for function in (*FUNCTIONS, *AGGREGATES)
        for name in (function.name, *function.also)
    }


def find(name: str) -> Function | None:
    """The function of this name, in any letters."""
    return _by_name().get(name.lower())


def known() -> list[str]:
    """Every name that a function has."""
    return sorted(_by_name())


def table() -> str:
    """The functions as they stand in docs/dialect.md."""
    lines = ["| function | gives | | its result |", "|---|---|---|---|"]
    for function in (*FUNCTIONS, *AGGREGATES):
        gives = "as it takes" if function.gives == "one" else function.gives
        also = f" (also {', '.join(function.also)})" if function.also else ""
        takes = ", ".join(_shown(argument) for argument in function.takes)
        lines.append(
            f"| `{function.name}({takes})`{also} | {gives} | {function.says} | {_GROWTH[function.growth]} |"
        )
    return "\n".join(line.replace("||", "\\|\\|") for line in lines)


def _shown(argument: Argument) -> str:
    word = argument.rstrip("?")
    word = (
        "…"
        if word == "…"
        else f"'{word[:-1]}'"
        if word.endswith("…")
        else "value"
        if word == "one"
        else word
    )
    return f"[{word}]" if argument.endswith("?") else word
