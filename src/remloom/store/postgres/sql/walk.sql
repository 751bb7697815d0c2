-- name: walk
-- Walk breadth first along the edges that leave keys, those that enter them, or both.
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
        {edges}
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
        {counts}
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

-- name: walk_aliased
-- Walk breadth first where records have several keys.
-- As `walk`, but a record is one node, by the first of its keys that is reached. A level knows which
-- of its keys are of such records (`aliased`); and for each key `seen`, in `nodes`, the one by which
-- its record was reached.
WITH RECURSIVE gone AS MATERIALIZED (
  -- The keys that only records have which have expired.
  SELECT n.key FROM remloom.records r JOIN remloom.names n ON n.tenant_id = t.tenant AND n.id = r.id
  WHERE r.tenant_id = t.tenant AND r.expires <= %(now)s AND NOT EXISTS (
    SELECT FROM remloom.names o JOIN remloom.records p ON p.tenant_id = t.tenant AND p.id = o.id
    WHERE o.tenant_id = t.tenant AND o.key = n.key AND o.kin IS NOT NULL AND (p.expires IS NULL OR p.expires > %(now)s)
  )
), level AS (
  SELECT 0 AS depth, s.keys, s.keys AS paths, NULL::{type} AS vals, 0::bigint AS reached,
         (
           SELECT array_agg(EXISTS (
             {others_of_o}
           ) ORDER BY o.position)
           FROM unnest(s.keys) WITH ORDINALITY o (key, position)
         ) AS aliased,
         s.keys || (
           SELECT array_agg(k.key) FROM unnest(s.keys) WITH ORDINALITY o (key, position) CROSS JOIN LATERAL (
             {others_of_o}
           ) k
         ) AS seen,
         s.keys || (
           SELECT array_agg(o.key) FROM unnest(s.keys) WITH ORDINALITY o (key, position) CROSS JOIN LATERAL (
             {others_of_o}
           ) k
         ) AS nodes
  FROM (
    SELECT array_agg(s.key COLLATE "C" ORDER BY s.position) AS keys
    FROM unnest(%(starts)b::text[]) WITH ORDINALITY s (key, position)
    -- OFFSET 0: a probe for each key, whatever the planner thinks.
    WHERE EXISTS (SELECT FROM remloom.names n WHERE n.tenant_id = t.tenant AND n.key = s.key OFFSET 0)
      AND s.key NOT IN (SELECT g.key FROM gone g)
      -- Of several keys of one record the walk starts from the first.
      AND NOT EXISTS (
        SELECT FROM unnest(%(starts)b::text[]) WITH ORDINALITY o (key, position) CROSS JOIN LATERAL (
          {others_of_o}
        ) k
        WHERE o.position < s.position AND k.key = s.key
      )
  ) s
  UNION ALL
  SELECT l.depth + 1, x.keys, x.paths, x.vals, x.reached, x.aliased, l.seen || x.seen, l.nodes || x.nodes
  FROM level l CROSS JOIN LATERAL (
    -- Of the edges to a key that was not seen yet, the first one.
    WITH fresh AS MATERIALIZED (
      SELECT DISTINCT ON (e.other) p.position, p.path, e.*
      FROM unnest(l.keys, l.paths, l.aliased) WITH ORDINALITY p (key, path, aliased, position)
      CROSS JOIN LATERAL (
        SELECT e.* FROM (
          SELECT e.* FROM (
            {edges}
          ) e
          WHERE NOT p.aliased
          UNION ALL (
            SELECT e.* FROM (
              SELECT p.key AS key UNION
              {others_of_p}
            ) k CROSS JOIN LATERAL (
              {edges_of_all}
            ) e
            WHERE p.aliased
            ORDER BY e.value {way}, e.created DESC, e.other, e.rel LIMIT %(limit)s
          )
        ) e
        -- PostgreSQL would copy the condition below into both parts, and the hashed NOT IN (…) in it
        -- would then go by the rows of an earlier level.
        OFFSET 0
      ) e
      WHERE e.other NOT IN (SELECT unnest(l.seen)) AND e.other NOT IN (SELECT g.key FROM gone g)
      ORDER BY e.other, p.position, e.value {way}, e.created DESC, e.rel
    ), numbered AS MATERIALIZED (
      SELECT f.*, row_number() OVER (ORDER BY position, value {way}, created DESC, other, rel) AS number
      FROM fresh f
    ), others AS MATERIALIZED (
      SELECT DISTINCT k.key, n.other, n.number FROM numbered n CROSS JOIN LATERAL (
        {others_of_n}
      ) k
    ), late AS MATERIALIZED (
      -- Keys of a record that was reached by another key before.
      SELECT c.key FROM (
        SELECT o.key, o.number, NULL::bigint AS own_number FROM others o
        UNION ALL SELECT n.other, n.number, n.number FROM numbered n
      ) c
      GROUP BY c.key HAVING min(c.number) < max(c.own_number)
    ), first AS MATERIALIZED (
      SELECT n.*, n.other IN (SELECT o.other FROM others o) AS aliased FROM numbered n
      WHERE n.other NOT IN (SELECT key FROM late)
    ), labels AS MATERIALIZED (
      SELECT f.other AS key, f.other AS node FROM first f
      UNION ALL SELECT o.key, o.other FROM others o WHERE o.other NOT IN (SELECT key FROM late)
    )
    SELECT array_agg(k.other) AS keys, array_agg(k.path || chr(30) || k.other) AS paths,
           array_agg(k.value) AS vals, (SELECT count(*) FROM first) AS reached,
           array_agg(k.aliased) AS aliased, (SELECT array_agg(n.key) FROM labels n) AS seen,
           (SELECT array_agg(n.node) FROM labels n) AS nodes
    FROM (
      SELECT * FROM first
      ORDER BY CASE WHEN l.depth + 1 = %(depth)s THEN value END {way}, number
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
      FROM (SELECT b.seen, b.nodes FROM level b WHERE b.depth < %(depth)s ORDER BY b.depth DESC LIMIT 1) b
      CROSS JOIN LATERAL unnest(b.seen, b.nodes) a (key, node)
      CROSS JOIN LATERAL (
        {counts}
      ) c
      GROUP BY a.node
    ) n
  ), 0) END::bigint AS unfollowed,
  ARRAY(
    SELECT n.path
    FROM level b CROSS JOIN LATERAL unnest(b.paths, b.vals) WITH ORDINALITY n (path, value, position)
    WHERE b.depth > 0 ORDER BY n.value {way}, b.depth, n.position LIMIT %(shown)s
  ) AS paths,
  false AS aliased
FROM level l;
