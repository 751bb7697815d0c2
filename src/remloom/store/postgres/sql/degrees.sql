-- name: count_edges
-- How many edges of each type leave (side 0) or enter (side 1) keys and the other keys of their records.
{family}
SELECT c.rel, c.side, sum(c.edges)::bigint AS edges
FROM family f CROSS JOIN LATERAL (
  -- Now: all edges, which are counted already, but for the dated ones that are not in force.
  SELECT d.rel, d.side, d.edges FROM remloom.degrees d
  WHERE NOT %(past)s AND d.tenant_id = t.tenant AND d.key = f.key AND d.side = ANY (%(sides)b::integer[])
  UNION ALL
  SELECT e.rel, 0 AS side, -1::bigint AS edges FROM remloom.edges e
  WHERE NOT %(past)s AND 0 = ANY (%(sides)b::integer[]) AND e.tenant_id = t.tenant AND e.src = f.key
    AND (e.valid_to <= %(at)s OR e.valid_from > %(at)s)
  UNION ALL
  SELECT e.rel, 1 AS side, -1::bigint AS edges FROM remloom.edges e
  WHERE NOT %(past)s AND 1 = ANY (%(sides)b::integer[]) AND e.tenant_id = t.tenant AND e.dst = f.key
    AND (e.valid_to <= %(at)s OR e.valid_from > %(at)s)
  -- In the past: one by one.
  UNION ALL
  SELECT e.rel, 0 AS side, 1::bigint AS edges FROM remloom.edges e
  WHERE %(past)s AND 0 = ANY (%(sides)b::integer[]) AND e.tenant_id = t.tenant AND e.src = f.key
    AND remloom.in_force(e, %(at)s, true)
  UNION ALL
  SELECT e.rel, 1 AS side, 1::bigint AS edges FROM remloom.edges e
  WHERE %(past)s AND 1 = ANY (%(sides)b::integer[]) AND e.tenant_id = t.tenant AND e.dst = f.key
    AND remloom.in_force(e, %(at)s, true)
) c
GROUP BY c.rel, c.side;

-- name: degrees
-- How many edges leave or enter groups of keys, by their position; the edges of each group are those
-- at its keys that no group before it has.
{family}
SELECT c.position, sum(c.edges)::bigint AS edges
FROM (
  SELECT f.position, c.edges
  FROM family f CROSS JOIN LATERAL (
    -- Now: all edges, which are counted already, but for the dated ones that are not in force.
    SELECT d.edges FROM remloom.degrees d
    WHERE NOT %(past)s AND d.tenant_id = t.tenant AND d.key = f.key AND d.side = ANY (%(sides)b::integer[])
    UNION ALL
    SELECT -1::bigint AS edges FROM remloom.edges e
    WHERE NOT %(past)s AND 0 = ANY (%(sides)b::integer[]) AND e.tenant_id = t.tenant AND e.src = f.key
      AND (e.valid_to <= %(at)s OR e.valid_from > %(at)s)
    UNION ALL
    SELECT -1::bigint AS edges FROM remloom.edges e
    WHERE NOT %(past)s AND 1 = ANY (%(sides)b::integer[]) AND e.tenant_id = t.tenant AND e.dst = f.key
      AND (e.valid_to <= %(at)s OR e.valid_from > %(at)s)
    -- In the past: one by one.
    UNION ALL
    SELECT 1::bigint AS edges FROM remloom.edges e
    WHERE %(past)s AND 0 = ANY (%(sides)b::integer[]) AND e.tenant_id = t.tenant AND e.src = f.key
      AND remloom.in_force(e, %(at)s, true)
    UNION ALL
    SELECT 1::bigint AS edges FROM remloom.edges e
    WHERE %(past)s AND 1 = ANY (%(sides)b::integer[]) AND e.tenant_id = t.tenant AND e.dst = f.key
      AND remloom.in_force(e, %(at)s, true)
  ) c
  UNION ALL
  -- An edge with both ends in the family is counted at each: one less, at the later position.
  SELECT greatest(f.position, g.position), -1
  FROM family f CROSS JOIN LATERAL (
    SELECT e.dst FROM remloom.edges e
    WHERE cardinality(%(sides)b::integer[]) = 2 AND e.tenant_id = t.tenant AND e.src = f.key
      AND remloom.in_force(e, %(at)s, %(past)s) OFFSET 0
  ) e JOIN family g ON g.key = e.dst
) c
GROUP BY c.position;
