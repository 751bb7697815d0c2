-- name: walk
-- Walk breadth first along the edges that leave keys, or those that enter them.
-- A level has the keys reached at it, in order, the path to each, and what the order goes by of the
-- edge that reached it; how many keys it `reached`, though the last level keeps only as many as may
-- be shown; and the keys `seen` by then. Nothing is walked where a record of several keys exists:
-- then `aliased` is true, and `walk_aliased` does it.
WITH RECURSIVE gone AS MATERIALIZED (
  -- The keys that only records have which have expired.
  SELECT n.key FROM remloom.records r JOIN remloom.names n ON n.tenant_id = t.tenant AND n.id = r.id
  WHERE r.tenant_id = t.tenant AND r.expires <= %(now)s AND NOT EXISTS (
    SELECT FROM remloom.names o JOIN remloom.records p ON p.tenant_id = t.tenant AND p.id = o.id
    WHERE o.tenant_id = t.tenant AND o.key = n.key AND o.kin IS NOT NULL AND (p.expires IS NULL OR p.expires > %(now)s)
  )
), level AS (
  SELECT 0 AS depth, s.keys, s.keys AS paths, NULL::{type} AS vals, 0::bigint AS reached, s.keys AS seen
  FROM (
    SELECT array_agg(s.key COLLATE "C" ORDER BY s.position) AS keys
    FROM unnest(%(starts)b::text[]) WITH ORDINALITY s (key, position)
    -- OFFSET 0: a probe for each key, whatever the planner thinks.
    WHERE EXISTS (SELECT FROM remloom.names n WHERE n.tenant_id = t.tenant AND n.key = s.key OFFSET 0)
      AND s.key NOT IN (SELECT g.key FROM gone g)
      AND NOT EXISTS (SELECT FROM remloom.names n WHERE n.tenant_id = t.tenant AND n.kin)
  ) s
  UNION ALL
  SELECT l.depth + 1, x.keys, x.paths, x.vals, x.reached, l.seen || x.keys
  FROM level l CROSS JOIN LATERAL (
    -- Of the edges to a key that was not seen yet, the first one.
    WITH fresh AS MATERIALIZED (
      SELECT DISTINCT ON (e.other) p.position, p.path, e.*
      FROM unnest(l.keys, l.paths) WITH ORDINALITY p (key, path, position)
      CROSS JOIN LATERAL (
        SELECT e.{column} AS value, e.created, e.other, e.rel FROM remloom.edges e (tenant_id, {ends})
        WHERE e.tenant_id = t.tenant AND e.own = p.key AND remloom.in_force(e, %(at)s, %(past)s){types}
        ORDER BY value {way}, e.created DESC, e.other, e.rel LIMIT %(limit)s
      ) e
      WHERE e.other NOT IN (SELECT unnest(l.seen)) AND e.other NOT IN (SELECT g.key FROM gone g)
      ORDER BY e.other, p.position, e.value {way}, e.created DESC, e.rel
    )
    SELECT array_agg(k.other) AS keys, array_agg(k.path || chr(30) || k.other) AS paths,
           array_agg(k.value) AS vals, (SELECT count(*) FROM fresh) AS reached
    FROM (
      SELECT * FROM fresh
      ORDER BY CASE WHEN l.depth + 1 = %(depth)s THEN value END {way}, position, value {way}, created DESC,
               other, rel
      LIMIT CASE WHEN l.depth + 1 = %(depth)s THEN %(shown)s::bigint END
    ) k
  ) x
  WHERE l.depth < %(depth)s AND l.keys IS NOT NULL
)
SELECT
  coalesce(max(l.depth) FILTER (WHERE l.reached > 0), 0) AS depth,
  sum(l.reached)::bigint AS reached,
  CASE WHEN %(limit)s::bigint IS NULL THEN 0 ELSE coalesce((
    SELECT sum(greatest(n.edges - %(limit)s, 0))
    FROM (
      SELECT sum(c.edges) AS edges
      -- The keys that edges were followed from are those seen by the last level but one.
      FROM (SELECT b.seen FROM level b WHERE b.depth < %(depth)s ORDER BY b.depth DESC LIMIT 1) b
      CROSS JOIN LATERAL (
        -- Now: all edges, which are counted already, but for the dated ones that are not in force.
        SELECT e.key, e.edges FROM remloom.degrees e
        WHERE NOT %(past)s AND e.tenant_id = t.tenant AND e.key = ANY (b.seen) AND e.side = %(side)s{types}
        UNION ALL
        SELECT e.own, -1::bigint FROM remloom.edges e (tenant_id, {ends})
        WHERE NOT %(past)s AND e.tenant_id = t.tenant AND e.own = ANY (b.seen)
          AND (e.valid_to <= %(at)s OR e.valid_from > %(at)s){types}
        -- In the past: one by one.
        UNION ALL
        SELECT e.own, 1::bigint FROM remloom.edges e (tenant_id, {ends})
        WHERE %(past)s AND e.tenant_id = t.tenant AND e.own = ANY (b.seen) AND remloom.in_force(e, %(at)s, true){types}
      ) c
      GROUP BY c.key
    ) n
  ), 0) END::bigint AS unfollowed,
  ARRAY(
    SELECT n.path
    FROM level b CROSS JOIN LATERAL unnest(b.paths, b.vals) WITH ORDINALITY n (path, value, position)
    WHERE b.depth > 0 ORDER BY n.value {way}, b.depth, n.position LIMIT %(shown)s
  ) AS paths,
  EXISTS (SELECT FROM remloom.names n WHERE n.tenant_id = t.tenant AND n.kin) AS aliased
FROM level l;

-- name: walk_both_ways
-- Walk breadth first along the edges that leave keys, and those that enter them.
-- See `walk`; the first edges of a key are the first of both kinds together.
WITH RECURSIVE gone AS MATERIALIZED (
  -- The keys that only records have which have expired.
  SELECT n.key FROM remloom.records r JOIN remloom.names n ON n.tenant_id = t.tenant AND n.id = r.id
  WHERE r.tenant_id = t.tenant AND r.expires <= %(now)s AND NOT EXISTS (
    SELECT FROM remloom.names o JOIN remloom.records p ON p.tenant_id = t.tenant AND p.id = o.id
    WHERE o.tenant_id = t.tenant AND o.key = n.key AND o.kin IS NOT NULL AND (p.expires IS NULL OR p.expires > %(now)s)
  )
), level AS (
  SELECT 0 AS depth, s.keys, s.keys AS paths, NULL::{type} AS vals, 0::bigint AS reached, s.keys AS seen
  FROM (
    SELECT array_agg(s.key COLLATE "C" ORDER BY s.position) AS keys
    FROM unnest(%(starts)b::text[]) WITH ORDINALITY s (key, position)
    -- OFFSET 0: a probe for each key, whatever the planner thinks.
    WHERE EXISTS (SELECT FROM remloom.names n WHERE n.tenant_id = t.tenant AND n.key = s.key OFFSET 0)
      AND s.key NOT IN (SELECT g.key FROM gone g)
      AND NOT EXISTS (SELECT FROM remloom.names n WHERE n.tenant_id = t.tenant AND n.kin)
  ) s
  UNION ALL
  SELECT l.depth + 1, x.keys, x.paths, x.vals, x.reached, l.seen || x.keys
  FROM level l CROSS JOIN LATERAL (
    -- Of the edges to a key that was not seen yet, the first one.
    WITH fresh AS MATERIALIZED (
      SELECT DISTINCT ON (e.other) p.position, p.path, e.*
      FROM unnest(l.keys, l.paths) WITH ORDINALITY p (key, path, position)
      CROSS JOIN LATERAL (
        (
          SELECT e.{column} AS value, e.created, e.other, e.rel FROM remloom.edges e (tenant_id, own, rel, other)
          WHERE e.tenant_id = t.tenant AND e.own = p.key AND remloom.in_force(e, %(at)s, %(past)s){types}
          ORDER BY value {way}, e.created DESC, e.other, e.rel LIMIT %(limit)s
        ) UNION ALL (
          SELECT e.{column} AS value, e.created, e.other, e.rel FROM remloom.edges e (tenant_id, other, rel, own)
          WHERE e.tenant_id = t.tenant AND e.own = p.key AND remloom.in_force(e, %(at)s, %(past)s){types}
          ORDER BY value {way}, e.created DESC, e.other, e.rel LIMIT %(limit)s
        )
        ORDER BY value {way}, created DESC, other, rel LIMIT %(limit)s
      ) e
      WHERE e.other NOT IN (SELECT unnest(l.seen)) AND e.other NOT IN (SELECT g.key FROM gone g)
      ORDER BY e.other, p.position, e.value {way}, e.created DESC, e.rel
    )
    SELECT array_agg(k.other) AS keys, array_agg(k.path || chr(30) || k.other) AS paths,
           array_agg(k.value) AS vals, (SELECT count(*) FROM fresh) AS reached
    FROM (
      SELECT * FROM fresh
      ORDER BY CASE WHEN l.depth + 1 = %(depth)s THEN value END {way}, position, value {way}, created DESC,
               other, rel
      LIMIT CASE WHEN l.depth + 1 = %(depth)s THEN %(shown)s::bigint END
    ) k
  ) x
  WHERE l.depth < %(depth)s AND l.keys IS NOT NULL
)
SELECT
  coalesce(max(l.depth) FILTER (WHERE l.reached > 0), 0) AS depth,
  sum(l.reached)::bigint AS reached,
  CASE WHEN %(limit)s::bigint IS NULL THEN 0 ELSE coalesce((
    SELECT sum(greatest(n.edges - %(limit)s, 0))
    FROM (
      SELECT sum(c.edges) AS edges
      -- The keys that edges were followed from are those seen by the last level but one.
      FROM (SELECT b.seen FROM level b WHERE b.depth < %(depth)s ORDER BY b.depth DESC LIMIT 1) b
      CROSS JOIN LATERAL (
        -- Now: all edges, which are counted already, but for the dated ones that are not in force.
        SELECT e.key, e.edges FROM remloom.degrees e
        WHERE NOT %(past)s AND e.tenant_id = t.tenant AND e.key = ANY (b.seen){types}
        UNION ALL
        SELECT e.src, -1::bigint FROM remloom.edges e
        WHERE NOT %(past)s AND e.tenant_id = t.tenant AND e.src = ANY (b.seen)
          AND (e.valid_to <= %(at)s OR e.valid_from > %(at)s){types}
        UNION ALL
        SELECT e.dst, -1::bigint FROM remloom.edges e
        WHERE NOT %(past)s AND e.tenant_id = t.tenant AND e.dst = ANY (b.seen)
          AND (e.valid_to <= %(at)s OR e.valid_from > %(at)s){types}
        -- In the past: one by one.
        UNION ALL
        SELECT e.src, 1::bigint FROM remloom.edges e
        WHERE %(past)s AND e.tenant_id = t.tenant AND e.src = ANY (b.seen) AND remloom.in_force(e, %(at)s, true){types}
        UNION ALL
        SELECT e.dst, 1::bigint FROM remloom.edges e
        WHERE %(past)s AND e.tenant_id = t.tenant AND e.dst = ANY (b.seen) AND remloom.in_force(e, %(at)s, true){types}
      ) c
      GROUP BY c.key
    ) n
  ), 0) END::bigint AS unfollowed,
  ARRAY(
    SELECT n.path
    FROM level b CROSS JOIN LATERAL unnest(b.paths, b.vals) WITH ORDINALITY n (path, value, position)
    WHERE b.depth > 0 ORDER BY n.value {way}, b.depth, n.position LIMIT %(shown)s
  ) AS paths,
  EXISTS (SELECT FROM remloom.names n WHERE n.tenant_id = t.tenant AND n.kin) AS aliased
FROM level l;
