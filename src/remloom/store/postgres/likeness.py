"""Finding records by likeness: names by trigrams, texts by BM25, vectors by HNSW."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ... import labels
from ...errors import LabelError, VectorError
from ...predicates import All, And, Predicate
from ..batch import to_vector
from ..compiling import Compiler
from ..contract import Match
from . import postings
from .half import Half
from .nearest import SERVING, Near, Nearest, Serving
from .rows import COLUMNS, decode
from .server import Server

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["Likeness"]

_OVERFETCH = 4  # times the limit is asked of an index first when hits may be filtered out or be windows of one record
_FEW_NAMES = 2_000  # of a tenant: all are compared, which is quicker than the trigram index and misses nothing
_ALIKE = (0.45, 0.3)  # trigram similarity asked for; the second where the first finds nothing that was meant
_WORDS_ALIKE = 0.6  # trigram similarity of a word to the part of a name that is most like it
_OF_A_KEY = 1_000  # trigrams are made of a key's beginning, in characters


class Likeness:
    """FUZZY and SEARCH over one tenant.

    Args:
        ef: candidates that an HNSW search keeps.
    """

    def __init__(self, server: Server, tenant: str, compiler: Callable[[str], Compiler], ef: int) -> None:
        self._server = server
        self._tenant = tenant
        self._compiler = compiler
        self._ef = ef
        self._serving: Serving | None = None  # as it was at the last search
        self._many_names = False  # once seen, not counted again: the index is right for few names too

    # -- names -----------------------------------------------------------------------------------------------

    def fuzzy(self, text: str, type: str | None, threshold: float, limit: int) -> list[Match]:
        try:
            key = labels.key(text)
        except LabelError:
            return []
        from ..index.name_scores import GOOD, Found, words_of

        found, numbers = Found(limit, None), _Numbers()
        words = words_of(key, asked=True)
        with self._server.read(self._tenant) as cursor:
            everything = self._all_names(cursor, type)
            if everything is not None:
                named = numbers.of(everything)
                found.add(named, key, (), threshold)
                good = sum(score >= GOOD for _, score in found.best())
                if good < limit and words:
                    likely = [pair for pair in named if not good or all(word in pair[1] for word in words)]
                    found.add(likely, key, words, threshold)
            else:
                good = 0
                for alike in _ALIKE:
                    found.add(numbers.of(self._whole(cursor, key, type, alike)), key, (), threshold)
                    good = sum(score >= GOOD for _, score in found.best())
                    if good:
                        break
                if good < limit and words:
                    by_words = self._with_all if good else self._with_some
                    found.add(numbers.of(by_words(cursor, words, type)), key, words, threshold)
            best = [(numbers.keys[number], score) for number, score in found.best()]
            return self._records(cursor, best, type, limit)

    def _all_names(self, cursor: Cursor[Any], type: str | None) -> list[str] | None:
        """Every key of a tenant that has few; None when there are many."""
        if self._many_names:
            return None
        rows = cursor.execute(
            f"SELECT n.key FROM remloom.names n {_typed(type)} WHERE n.tenant_id = %s LIMIT %s",
            (*([self._tenant, type, type] if type else []), self._tenant, _FEW_NAMES + 1),
        ).fetchall()
        self._many_names = len(rows) > _FEW_NAMES
        return None if self._many_names else list(dict.fromkeys(key for (key,) in rows))

    def _whole(self, cursor: Cursor[Any], key: str, type: str | None, alike: float) -> list[str]:
        cursor.execute("SELECT set_config('pg_trgm.similarity_threshold', %s, true)", (str(alike),))
        beginning = key[:_OF_A_KEY]
        return self._candidates(cursor, "n.key %% %s", "similarity(n.key, %s) DESC", [beginning], [beginning], type)

    def _with_all(self, cursor: Cursor[Any], words: Sequence[str], type: str | None) -> list[str]:
        if not any(len(word) > 2 for word in words):
            return []  # no trigram to look for
        patterns = [f"%{word}%" for word in words]  # words have neither % nor _
        every = " AND ".join(["n.key LIKE %s"] * len(patterns))  # LIKE ALL would use no index
        return self._candidates(cursor, every, "length(n.key)", patterns, [], type)

    def _with_some(self, cursor: Cursor[Any], words: Sequence[str], type: str | None) -> list[str]:
        cursor.execute("SELECT set_config('pg_trgm.word_similarity_threshold', %s, true)", (str(_WORDS_ALIKE),))
        found: dict[str, None] = {}
        for word in words:
            by_likeness = "word_similarity(%s, n.key) DESC, length(n.key)"
            found |= dict.fromkeys(self._candidates(cursor, "%s <%% n.key", by_likeness, [word], [word], type))
        return list(found)

    def _candidates(
        self,
        cursor: Cursor[Any],
        condition: str,
        order: str,
        sought: list[Any],
        ordered_by: list[Any],
        type: str | None,
    ) -> list[str]:
        from ..index.name_scores import CANDIDATES

        rows = cursor.execute(
            f"SELECT n.key FROM remloom.own_names n {_typed(type)} WHERE {condition}"
            f" ORDER BY {order} LIMIT {CANDIDATES}",
            (*([self._tenant, type, type] if type else []), *sought, *ordered_by),
        ).fetchall()
        return [key for (key,) in rows]

    def _records(
        self, cursor: Cursor[Any], best: Sequence[tuple[str, float]], type: str | None, limit: int
    ) -> list[Match]:
        """The records that have these keys, in their order, each once."""
        if not best:
            return []
        rows = cursor.execute(
            f"SELECT n.key, coalesce(n.label, n.key), r.id, {COLUMNS} FROM remloom.names n JOIN remloom.records r"
            " ON r.tenant_id = n.tenant_id AND r.id = n.id WHERE n.tenant_id = %s AND n.key = ANY (%s)"
            f"{' AND (r.type = %s OR r.schema = %s)' if type else ''} ORDER BY n.rank, r.seq",
            (self._tenant, [key for key, _ in best], *([type, type] if type else [])),
        ).fetchall()
        by_key: dict[str, list[Any]] = {}
        for key, *row in rows:
            by_key.setdefault(key, []).append(row)
        found: dict[str, Match] = {}
        for key, score in best:
            for matched, id, schema, body, content in by_key.get(key, ()):
                if id not in found:
                    found[id] = Match(decode(schema, body, content), score, matched)
        return list(found.values())[:limit]

    # -- texts -----------------------------------------------------------------------------------------------

    def text(self, text: str, schema: str | None, where: Predicate | None, limit: int) -> list[Match]:
        condition, values = self._condition(schema, where)
        with self._server.read(self._tenant) as cursor:
            numbers, scores = postings.score(cursor, self._tenant, text)
            matches: list[Match] = []
            start, count = 0, limit if not condition else limit * _OVERFETCH
            while start < len(numbers) and len(matches) < limit:
                some = numbers[start : start + count].tolist()
                rows = cursor.execute(
                    f"SELECT r.doc, {COLUMNS} FROM remloom.records r"
                    f" WHERE r.tenant_id = %s AND r.doc = ANY (%s){condition}",
                    (self._tenant, some, *values),
                ).fetchall()
                records = {doc: row for doc, *row in rows}
                matches += [
                    Match(decode(*records[doc]), float(score))
                    for doc, score in zip(some, scores[start : start + count], strict=True)
                    if doc in records
                ]
                start, count = start + count, count * _OVERFETCH
            return matches[:limit]

    # -- vectors ---------------------------------------------------------------------------------------------

    def vector(
        self, vector: Sequence[float], schema: str, where: Predicate | None, limit: int, min_score: float | None
    ) -> list[Match]:
        data, dims = to_vector(vector, what="the query")
        condition, values = self._condition(None, where, schema)
        ef = max(self._ef, limit)

        def asked(serving: Serving) -> Nearest:
            return Nearest(self._tenant, schema, serving, Half(data), condition, values, ef)

        best = None
        if not condition and self._serving is not None and self._serving.dims == dims:
            best = self._at_once(asked(self._serving), self._serving, ef, limit)
        if best is None:
            with self._server.read(self._tenant) as cursor:
                row = cursor.execute(SERVING, (str(ef), self._tenant)).fetchone()
                if row is None:
                    return []
                self._serving = Serving(*row[:3])
                if dims != self._serving.dims:
                    raise VectorError(
                        f"the query has {dims} dimensions, this memory's vectors {self._serving.dims}",
                        remedy="embed the query with the embedder of this memory",
                    )
                best = _best(asked(self._serving), cursor, limit)
        matches = [
            Match(decode(near.schema, near.body, near.content), 1.0 - near.distance, f"{near.first}:{near.last}")
            for near in best.values()
            if min_score is None or 1.0 - near.distance >= min_score
        ]
        return matches[:limit]

    def _at_once(self, nearest: Nearest, serving: Serving, ef: int, limit: int) -> dict[str, Near] | None:
        """The records nearest, in one round trip; None if another model serves by now, or more is to be asked for."""
        settings = SERVING, (str(ef), self._tenant)  # asked again at the end: vectors may be moved in between
        _, rows, current = self._server.together(self._tenant, [settings, nearest.first(limit), settings])
        if not current or current[0][:3] != serving:
            return None
        best = _first_windows(map(Near._make, rows))
        return best if len(best) == limit or (len(rows) < limit and not serving.indexed) else None

    def _condition(
        self, schema: str | None, where: Predicate | None, compiled_as: str | None = None
    ) -> tuple[str, list[Any]]:
        """What is to be added to the WHERE of a statement over the records `r`."""
        text, values = "", list[Any]()
        if schema is not None:
            text, values = " AND r.schema = %s", [schema]
        if where is not None and not isinstance(where, All):
            as_schema = compiled_as or schema or "resources"
            sql, more = self._compiler(as_schema).compile(where if as_schema == schema else And((where,)))
            text, values = f"{text} AND ({sql})", [*values, *more]
        return text, values


def _best(nearest: Nearest, cursor: Cursor[Any], limit: int) -> dict[str, Near]:
    """The records nearest; more windows are asked for only where several of a record are among them: that is dear."""
    count = limit
    while True:
        found = nearest.best(cursor, count)
        best = _first_windows(found)
        if len(best) >= limit or len(found) < count:
            return best
        count *= _OVERFETCH


def _first_windows(found: Iterable[Near]) -> dict[str, Near]:
    """The first window of each record."""
    best: dict[str, Near] = {}
    for window in found:
        best.setdefault(window.id, window)
    return best


class _Numbers:
    """Keys by number, as `Found` takes them."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self._known: dict[str, int] = {}

    def of(self, keys: Iterable[str]) -> list[tuple[int, str]]:
        found = []
        for key in keys:
            number = self._known.setdefault(key, len(self.keys))
            if number == len(self.keys):
                self.keys.append(key)
            found.append((number, key))
        return found


def _typed(type: str | None) -> str:
    if type is None:
        return ""
    # Not `= n.tenant_id`: the planner would know the tenant of the names, and prefer all of them to the trigrams.
    return "JOIN remloom.records r ON r.tenant_id = %s AND r.id = n.id AND (r.type = %s OR r.schema = %s)"
