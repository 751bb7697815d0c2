"""TRAVERSE as one statement: breadth first, a level a row."""

from __future__ import annotations

from functools import lru_cache

from .edge_queries import Fetch, counted, others

__all__ = ["MARK", "SEVERAL", "walking"]

MARK = "\x1e"  # between the keys of a path; a separator, so no key has it
SEVERAL = "p.several"  # that a key is one of several of its record, for `Fetch.kin`

# A level has the keys that were reached at it, in order, the path to each and what the order goes
# by of the edge that reached it; how many keys it `reached`, though the last level keeps only as
# many as may be shown; and the keys `seen` by then.
_WALK = """
WITH RECURSIVE level AS (
  SELECT 0 AS depth, s.keys, s.keys AS paths, NULL::{kind} AS vals, 0::bigint AS reached, {seen}
  FROM (
    SELECT array_agg(s.key COLLATE "C" ORDER BY s.place) AS keys
    FROM unnest(%(starts)b::text[]) WITH ORDINALITY s (key, place)
    WHERE EXISTS (SELECT FROM remloom.names n WHERE n.tenant_id = t.tenant AND n.key = s.key OFFSET 0) AND NOT {unfit}
  ) s
  UNION ALL
  SELECT l.depth + 1, x.keys, x.paths, x.vals, x.reached, {seen_then}
  FROM level l CROSS JOIN LATERAL (
    WITH fresh AS MATERIALIZED (
      SELECT DISTINCT ON (far) p.place, p.path, e.* FROM {frontier}
      CROSS JOIN LATERAL ({edges}) e WHERE far NOT IN (SELECT unnest(l.seen)) ORDER BY far, place, {rank}
    ){kin}
    SELECT array_agg(k.far) AS keys, array_agg(k.path || '{mark}' || k.far) AS paths, array_agg(k.by) AS vals,
           (SELECT count(*) FROM {first}) AS reached{labels}
    FROM (
      SELECT * FROM {first} ORDER BY CASE WHEN l.depth + 1 = %(depth)s THEN by END {way}, place, {rank}
      LIMIT CASE WHEN l.depth + 1 = %(depth)s THEN %(shown)s::bigint END
    ) k
  ) x WHERE l.depth < %(depth)s AND l.keys IS NOT NULL
)
SELECT coalesce(max(l.depth) FILTER (WHERE l.reached > 0), 0) AS depth, sum(l.reached)::bigint AS reached,
  CASE WHEN %(limit)s::bigint IS NULL THEN 0
       ELSE coalesce((SELECT sum(greatest(n.edges - %(limit)s, 0)) FROM ({around}) n), 0) END::bigint AS unfollowed,
  ARRAY(SELECT n.path FROM level b CROSS JOIN LATERAL unnest(b.paths, b.vals) WITH ORDINALITY n (path, val, place)
        WHERE b.depth > 0 ORDER BY n.val {way}, b.depth, n.place LIMIT %(shown)s) AS paths,
  {again} AS again
FROM level l
"""
# The keys that edges were followed from are those seen by this level.
_FOLLOWED = "(SELECT b.* FROM level b WHERE b.depth < %(depth)s ORDER BY b.depth DESC LIMIT 1) b"
_HAS_KIN = "EXISTS (SELECT FROM remloom.names n WHERE n.tenant_id = t.tenant AND n.kin)"
_PLAIN = {
    "seen": "s.keys AS seen",
    "unfit": _HAS_KIN,
    "seen_then": "l.seen || x.keys",
    "frontier": "unnest(l.keys, l.paths) WITH ORDINALITY p (key, path, place)",
    "kin": "",
    "first": "fresh",
    "labels": "",
    "followed": "= ANY (b.seen)",
    "around": f"SELECT sum(c.edges) AS edges FROM {_FOLLOWED} CROSS JOIN LATERAL ({{counted}}) c GROUP BY c.key",
    "again": _HAS_KIN,
}
# Where records may have several keys, each is one node, by the first of them that is reached. A
# level then knows which of its keys are of such records, and for each key seen the one by which its
# record was reached, its node.
_KIN = {
    "seen": """(SELECT array_agg(EXISTS ({others_of_start}) ORDER BY o.place) {starts}) AS several,
         s.keys || (SELECT array_agg(k.key) {starts} CROSS JOIN LATERAL ({others_of_start}) k) AS seen,
         s.keys || (SELECT array_agg(o.key) {starts} CROSS JOIN LATERAL ({others_of_start}) k) AS nodes""",
    "unfit": """EXISTS (
      SELECT FROM unnest(%(starts)b::text[]) WITH ORDINALITY o (key, place) CROSS JOIN LATERAL ({others_of_start}) k
      WHERE o.place < s.place AND k.key = s.key)""",
    "seen_then": "x.several, l.seen || x.seen, l.nodes || x.nodes",
    "frontier": "unnest(l.keys, l.paths, l.several) WITH ORDINALITY p (key, path, several, place)",
    "kin": """, numbered AS MATERIALIZED (
      SELECT f.*, row_number() OVER (ORDER BY place, {rank}) AS number FROM fresh f
    ), kin AS MATERIALIZED (
      SELECT DISTINCT k.key, n.far, n.number FROM numbered n CROSS JOIN LATERAL ({others_of_far}) k
    ), late AS MATERIALIZED (
      SELECT c.key FROM (
        SELECT k.key, k.number, NULL::bigint AS own FROM kin k
        UNION ALL SELECT n.far, n.number, n.number FROM numbered n
      ) c GROUP BY c.key HAVING min(c.number) < max(c.own)
    ), first AS MATERIALIZED (
      SELECT n.*, n.far IN (SELECT k.far FROM kin k) AS several FROM numbered n
      WHERE n.far NOT IN (SELECT key FROM late)
    ), labels AS MATERIALIZED (
      SELECT f.far AS key, f.far FROM first f
      UNION ALL SELECT k.key, k.far FROM kin k WHERE k.far NOT IN (SELECT key FROM late)
    )""",
    "first": "first",
    "labels": """, array_agg(k.several) AS several,
           (SELECT array_agg(n.key) FROM labels n) AS seen, (SELECT array_agg(n.far) FROM labels n) AS nodes""",
    "followed": "= a.key",
    "around": f"""SELECT sum(c.edges) AS edges FROM {_FOLLOWED} CROSS JOIN LATERAL unnest(b.seen, b.nodes) a (key, node)
      CROSS JOIN LATERAL ({{counted}}) c GROUP BY a.node""",
    "again": "false",
}


@lru_cache(maxsize=256)
def walking(fetch: Fetch, past: bool) -> str:
    """The statement that walks; besides the parameters of `edge_queries` it takes `starts`, `depth`
    and `shown`.

    It gives one row: the deepest level reached, keys reached, edges not followed, the first paths,
    and whether it has to be done again because there are records of several keys, and `fetch` has
    no `kin`.
    """
    shape = _KIN if fetch.kin else _PLAIN
    names = {
        "kind": fetch.kind, "rank": fetch.rank, "way": fetch.way, "mark": MARK,
        "edges": fetch.at("p.key"),
        "counted": counted(shape["followed"], fetch.direction, typed=fetch.typed, past=past),
        "others_of_start": others("o.key"),
        "starts": "FROM unnest(s.keys) WITH ORDINALITY o (key, place)",
        "others_of_far": others("n.far"),
    }  # fmt: skip
    return _WALK.format(**names, **{name: part.format(**names) for name, part in shape.items()})
