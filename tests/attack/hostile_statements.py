"""Statements of the dialect, their JSON form and predicates, that mean harm: made at random, always
the same from a seed."""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime
from typing import Any

from asking import Call

from remloom import predicates as p

WORDS = (
    "LOOKUP FUZZY SEARCH TRAVERSE SELECT EXPLAIN PLAN WITH DEPTH DIRECTION BREADTH ALL ORDER BY ASC DESC LIMIT MEMO AS OF TYPE "
    "THRESHOLD IN FROM WHERE MIN AND OR NOT LIKE CONTAINS STARTS ENDS MATCHES BETWEEN IS NULL TRUE FALSE * , ; ( ) = != <> < <= > >= "
    "-> ->> knows resources entities moments out in both edge.created_at node.name edge.weight name category metadata.a"
).split()
LABELS = (
    "Person 1", "person-1", "P1", "note 7", "zebrafin", "zebra", "other", "../other", "tenants/other", "'", '"', "\\", "''", '""', "",
    " ", "-", "%", "_", "*", "\x00", "\x1b[31m", "\u202e", "\u200b", "\ufeff", "\ud800", "\U000e0041", "ß", "İ", "ﬁ", "東京", "👩‍👩‍👧",
    "a" * 300, "a" * 70_000, "é" * 5_000, "a-" * 2_000, "1", "-1", "1e999", "nan", "NULL", "true", "'; DROP TABLE records; --",
    "{{7*7}}", "${jndi:ldap://x}", "<script>", "0x41", "\n", "\t", "\r\n", "LOOKUP", "select", "%s", "%(x)s", "{}", "{0}", ":1", "?",
)  # fmt: skip
TIMES = (
    "'2026-01-01'", "'2026-13-45'", "'now'", "'9999-12-31T23:59:59Z'", "'0001-01-01'", "'-1'", "''", "'2026-01-01T00:00:00+99:00'",
    "yesterday", "'1e9'", "'infinity'", "2026-02-30", "'2026-01-01T00:00:00'", "'99999-01-01'",
)  # fmt: skip
NUMBERS = (
    "0", "1", "3", "-1", "1.5", "1e3", "1e999", "999999999999999999999", "two", "0x10", "٣", "１", "+1", "1_000", "NaN", "ALL", "NULL", "''",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**63, 2**70, -(2**63), 1.5, 1e308, math.inf, -math.inf, math.nan, "", "tea", "\x00", "\ud800", "a" * 70_000,
    b"bytes", [], [[]], [1, "a", None], {}, {"a": {"b": []}}, {1, 2}, (1, 2), datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC),
    datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC), date(2026, 1, 1), object, 1j, range(3), Ellipsis, ["x"] * 3_000,
    "%a%a%a%a%a%b", "(a|aa)+$", "[", "*", "(?P<x>", "\\", "(" * 200, "a{99999}", "(?=", "2026-01-01", "now",
)  # fmt: skip
FIELDS: tuple[Any, ...] = (
    "name", "content", "metadata.a.b", "metadata", "properties.age", "id", "starts_at", "ordinal", "tenant_id", "rowid", "records.content",
    "", "a.b.c.d", "metadata." + "a." * 400 + "a", "x'; --", "metadata.'", 'metadata."x"', "metadata.$", "metadata.a[0]", "\x00", "\ud800",
    "graph_paths", "embedding", "key", "schema", "kind", "aliases", 7, None, ["name"], "NAME", "name ", "related_entities",
)  # fmt: skip
TESTS = (
    p.Eq,
    p.Ne,
    p.Gt,
    p.Gte,
    p.Lt,
    p.Lte,
    p.In,
    p.NotIn,
    p.Contains,
    p.StartsWith,
    p.EndsWith,
    p.Matches,
)
PARAMETERS = (
    "key", "label", "labels", "query_text", "text", "type", "threshold", "limit", "table_name", "schema", "where_clause", "where",
    "min_score", "query", "sql", "order_by", "initial_query", "edge_types", "max_depth", "depth", "direction", "breadth", "plan_memo",
    "tenant", "tenant_id", "__class__", "", "\ud800",
)  # fmt: skip
KINDS: tuple[Any, ...] = (
    "lookup",
    "fuzzy",
    "search",
    "sql",
    "traverse",
    "LOOKUP",
    "ask",
    "",
    None,
    1,
    [],
    "\x00",
)


class Grammar:
    """Hostile calls, one after another."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def call(self) -> Call:
        chance = self.random.random()
        if chance < 0.62:
            family, text = self._statement()
            return Call("query", (text,), family=family)
        if chance < 0.8:
            return Call("rem_query", (self._one(KINDS), self._parameters(2)), family="parameters")
        if chance < 0.9:
            return self._predicate_call()
        return self._direct()

    # -- text --------------------------------------------------------------------------------------

    def _statement(self) -> tuple[str, str]:
        chance = self.random.random()
        if chance < 0.3:
            return "words", self._glued([self._token() for _ in range(self.random.randint(1, 14))])
        if chance < 0.75:
            return "clauses", self._clauses()
        if chance < 0.97:
            return "changed", self._changed(self._clauses())
        return "long", self._long()

    def _clauses(self) -> str:
        one, chance = self._one, self.random.random
        start = one((
            f"LOOKUP {self._label()}", f"LOOKUP {self._label()}, {self._label()}", f"FUZZY {self._label()} THRESHOLD {one(NUMBERS)}",
            f"FUZZY {self._label()} TYPE {self._label()} LIMIT {one(NUMBERS)}", f"SEARCH {self._label()} MIN {one(NUMBERS)}",
            f"SEARCH {self._label()} IN {one(('resources', 'entities', 'moments', 'records', self._label()))} WHERE {self._condition(2)}",
            f"SELECT name FROM {one(('resources', 'entities', 'moments', 'records', 'edges'))} LIMIT {one(NUMBERS)}",
        ))  # fmt: skip
        if chance() < 0.45:
            return f"{start} {one(('', '', ';', '-- end', 'DEPTH 2'))}"
        edges = one(("", "*", "knows", "PLAN", "PLAN knows", self._label(), 'knows, "x"'))
        text = f"TRAVERSE {edges} WITH {one((start, self._label()))}"
        for clause in self.random.sample((
            f"DEPTH {one(NUMBERS)}", f"DIRECTION {one(('out', 'in', 'both', 'up', self._label()))}", f"BREADTH {one(NUMBERS)}",
            f"ORDER BY {one(('edge.weight', 'node.name', 'edge.x', 'name', self._label()))} {one(('', 'ASC', 'DESC', 'UP'))}",
            f"LIMIT {one(NUMBERS)}", f"MEMO {self._label()}",
        ), self.random.randint(0, 4)):  # fmt: skip
            text += f" {clause}"
        return one(("", "", "", "EXPLAIN ")) + text + one(("", "", f" AS OF {one(TIMES)}"))

    def _condition(self, depth: int) -> str:
        one = self._one
        if depth and self.random.random() < 0.4:
            return f"({self._condition(depth - 1)} {one(('AND', 'OR', 'XOR'))} NOT {self._condition(depth - 1)})"
        field = one([field for field in FIELDS if isinstance(field, str)])
        value = one(
            (
                self._label(),
                one(NUMBERS),
                one(TIMES),
                "NULL",
                "TRUE",
                "name",
                "(SELECT 1)",
                "lower('x')",
                "1 + 1",
            )
        )
        operator = one(
            (
                "=",
                "!=",
                "<",
                ">=",
                "IN",
                "LIKE",
                "CONTAINS",
                "MATCHES",
                "STARTS WITH",
                "BETWEEN",
                "IS",
                "~",
                "->",
                "@>",
            )
        )
        return f"{field} {operator} {f'({value}, {value})' if operator == 'IN' else value}"

    def _long(self) -> str:
        many = self._one((200, 3_000, 30_000))
        return self._one((
            lambda: "LOOKUP " + ", ".join(["x"] * many), lambda: f"SEARCH a WHERE {'(' * many}name = 1{')' * many}",
            lambda: "SEARCH a WHERE " + "NOT " * many + "name = 1", lambda: "SEARCH a WHERE " + " OR ".join(["name = 'x'"] * many),
            lambda: "SEARCH a WHERE name IN (" + ", ".join(["1"] * many) + ")", lambda: "TRAVERSE " + ",".join(["knows"] * many) + " WITH x",
            lambda: "LOOKUP '" + "\\'" * many, lambda: "EXPLAIN " * many + "LOOKUP x", lambda: "LOOKUP x " + "DEPTH 1 " * many,
            lambda: "FUZZY " + "x" * many, lambda: "SEARCH " + "tea " * many, lambda: "TRAVERSE WITH " * many + "x",
            lambda: "-- x\n" * many + "LOOKUP x", lambda: "LOOKUP " + "a-" * many, lambda: "SEARCH a WHERE metadata" + ".a" * many + " = 1",
            lambda: "LOOKUP x DEPTH " + "9" * many, lambda: "SEARCH a WHERE name MATCHES '" + "(a|" * many, lambda: "LOOKUP \x00" * many,
        ))()  # fmt: skip

    def _changed(self, text: str) -> str:
        letters = list(text)
        for _ in range(self.random.randint(1, 5)):
            at = self.random.randrange(len(letters) + 1)
            way = self.random.randrange(3)
            if way == 0:
                letters[at:at] = self._one(LABELS)[:20]
            elif way == 1:
                del letters[at : at + self.random.randint(1, 4)]
            elif letters:
                letters[min(at, len(letters) - 1)] = chr(
                    self.random.choice(
                        (0, 9, 34, 39, 92, 96, 59, 0x202E, 0xD800, 0x1F600, 0x7F, 0x85)
                    )
                )
        return "".join(letters)

    def _token(self) -> str:
        return self._one(
            (
                self._one(WORDS),
                self._one(WORDS),
                self._label(),
                self._one(NUMBERS),
                self._one(TIMES),
            )
        )

    def _glued(self, tokens: list[str]) -> str:
        return self._one((" ", " ", " ", "", "\n", "\t", "\u00a0", "/**/", " -- \n")).join(tokens)

    def _label(self) -> str:
        label = self._one(LABELS)
        return self._one((label, f"'{label}'", f'"{label}"', f'"{label}', label.replace("'", "''")))

    # -- values ------------------------------------------------------------------------------------

    def _parameters(self, depth: int) -> Any:
        if self.random.random() < 0.05:
            return self._one(VALUES)
        names = self.random.sample(PARAMETERS, self.random.randint(0, 4))
        return {name: self._value(name, depth) for name in names}

    def _value(self, name: str, depth: int) -> Any:
        chance = self.random.random()
        if name in ("initial_query", "query", "sql", "where", "where_clause") and chance < 0.6:
            if depth and chance < 0.2:
                return {"query_type": self._one(KINDS), "parameters": self._parameters(depth - 1)}
            return self._condition(1) if name.startswith("where") else self._clauses()
        return (
            self._one(VALUES)
            if chance < 0.7
            else self._one((1, "tea", ["knows"], "resources", "name", "out", 0.5, "Person 1"))
        )

    def _predicate(self, depth: int) -> Any:
        chance = self.random.random()
        if depth and chance < 0.3:
            inner = tuple(self._predicate(depth - 1) for _ in range(self.random.randint(0, 3)))
            return self._one(
                (p.And(inner), p.Or(inner), p.Not(inner[0] if inner else p.All()), p.Not(inner))
            )  # type: ignore[arg-type]
        if chance < 0.4:
            return self._one((p.Exists, p.NotExists))(self._one(FIELDS))
        if chance < 0.45:
            return p.VectorSimilar(
                query=self._one(VALUES),
                top_k=self._one((1, -1, 2**70, "x")),
                min_score=self._one((0.0, math.nan)),
            )
        if chance < 0.5:
            return self._one(VALUES)
        return self._one(TESTS)(self._one(FIELDS), self._one(VALUES))

    def _predicate_call(self) -> Call:
        where = self._predicate(2)
        query = p.Query(
            where,
            ((self._one(FIELDS), self._one(("asc", "desc", "up"))),)
            if self.random.random() < 0.3
            else (),
        )
        if self.random.random() < 0.3:
            query = p.Query(
                where, (), self._one((1, 0, -1, "1", 2**70)), self._one((0, -1, 2**70, None))
            )
        return self._one((
            Call("query_resources", (query,), family="predicate"), Call("query_entities", (query,), family="predicate"),
            Call("query_moments", (query,), family="predicate"), Call("search_text", ("tea",), {"where": where}, family="predicate"),
            Call("search", ("tea",), {"where": where}, family="predicate"),
        ))  # fmt: skip

    def _direct(self) -> Call:
        """Methods with arguments of wrong types."""
        one, value = self._one, lambda: self._one((self._one(VALUES), self._one(LABELS)))
        name, args, given = one((
            ("lookup", (value(),), {}), ("fuzzy", (value(),), {"limit": value(), "threshold": value()}), ("traverse", (value(),), {}),
            ("traverse", ("Person 1",), {one(("max_depth", "edge_types", "direction", "breadth", "limit", "order_by")): value()}),
            ("search_text", (value(),), {"limit": value()}), ("search", (value(),), {"schema": value()}), ("sql", (value(),), {}),
            ("query", (value(),), {}), ("search", (), {"vector": value()}), ("get_resource", (value(),), {}), ("get_entity", (value(),), {}),
            ("get_moment", (value(),), {}), ("admin.describe", (value(),), {}), ("history", (value(),), {}), ("admin.complete", (value(),), {"limit": value()}),
            ("get_edges", (value(),), {"direction": value()}), ("get_edges", ("Person 1",), {"edge_types": value(), "limit": value()}),
            ("get_moments_by_time", (value(), value()), {}), ("get_moments_by_type", (value(),), {}), ("recall", (value(),), {"limit": value()}),
            ("recall", ("What of the tea?",), {one(("budget_tokens", "mode", "where")): value()}), ("context", (value(),), {}),
            ("search_entities", (value(),), {"threshold": value()}), ("jobs.list", (value(),), {}), ("runs.list", (value(),), {}), ("runs.records", (value(),), {}),
        ))  # fmt: skip
        return Call(name, args, given, family="arguments")

    def _one(self, items: Any) -> Any:
        return self.random.choice(items)
