-- name: edges
-- The edges that leave keys and the other keys of their records, or enter them: `limit` of each key.
{family}
SELECT e.src, e.rel, e.dst, e.weight, e.created, e.valid_from, e.valid_to, e.properties
FROM (SELECT * FROM family ORDER BY position, key OFFSET 0) f CROSS JOIN LATERAL (
  SELECT e.*, e.{other} AS other FROM remloom.edges e
  WHERE e.tenant_id = t.tenant AND e.{own} = f.key AND remloom.in_force(e, %(at)s, %(past)s){types}
  ORDER BY {order}, created DESC, other, rel LIMIT %(limit)s
) e
ORDER BY f.position, f.key, {order}, created DESC, other, rel;

-- name: edges_both_ways
-- The edges that leave or enter keys and the other keys of their records: `limit` of each key.
{family}
SELECT e.src, e.rel, e.dst, e.weight, e.created, e.valid_from, e.valid_to, e.properties
FROM (SELECT * FROM family ORDER BY position, key OFFSET 0) f CROSS JOIN LATERAL (
  (
    SELECT e.*, e.dst AS other, 0 AS side FROM remloom.edges e
    WHERE e.tenant_id = t.tenant AND e.src = f.key AND remloom.in_force(e, %(at)s, %(past)s){types}
    ORDER BY {order}, created DESC, other, rel LIMIT %(limit)s
  ) UNION ALL (
    -- An edge from a key to itself is given once, where it leaves.
    SELECT e.*, e.src AS other, 1 AS side FROM remloom.edges e
    WHERE e.tenant_id = t.tenant AND e.dst = f.key AND e.src <> e.dst AND remloom.in_force(e, %(at)s, %(past)s){types}
    ORDER BY {order}, created DESC, other, rel LIMIT %(limit)s
  )
  ORDER BY {order}, created DESC, other, rel, side LIMIT %(limit)s
) e
ORDER BY f.position, f.key, {order}, created DESC, other, rel, side;

-- name: edge_keys
-- The ends and types of the newest edges that leave keys and the other keys of their records, or enter them.
-- It reads no more of an edge than the index has.
{family}
SELECT e.src, e.rel, e.dst
FROM (SELECT * FROM family ORDER BY position, key OFFSET 0) f CROSS JOIN LATERAL (
  SELECT e.created, e.src, e.rel, e.dst, e.{other} AS other FROM remloom.edges e
  WHERE e.tenant_id = t.tenant AND e.{own} = f.key AND remloom.in_force(e, %(at)s, %(past)s){types}
  ORDER BY created DESC, other, rel LIMIT %(limit)s
) e
ORDER BY f.position, f.key, created DESC, other, rel LIMIT %(total)s;

-- name: edge_keys_both_ways
-- The ends and types of the newest edges that leave or enter keys and the other keys of their records.
{family}
SELECT e.src, e.rel, e.dst
FROM (SELECT * FROM family ORDER BY position, key OFFSET 0) f CROSS JOIN LATERAL (
  (
    SELECT e.created, e.src, e.rel, e.dst, e.dst AS other, 0 AS side FROM remloom.edges e
    WHERE e.tenant_id = t.tenant AND e.src = f.key AND remloom.in_force(e, %(at)s, %(past)s){types}
    ORDER BY created DESC, other, rel LIMIT %(limit)s
  ) UNION ALL (
    -- An edge from a key to itself is given once, where it leaves.
    SELECT e.created, e.src, e.rel, e.dst, e.src AS other, 1 AS side FROM remloom.edges e
    WHERE e.tenant_id = t.tenant AND e.dst = f.key AND e.src <> e.dst AND remloom.in_force(e, %(at)s, %(past)s){types}
    ORDER BY created DESC, other, rel LIMIT %(limit)s
  )
  ORDER BY created DESC, other, rel, side LIMIT %(limit)s
) e
ORDER BY f.position, f.key, created DESC, other, rel, side LIMIT %(total)s;

-- name: stored_edges
-- Every edge at some keys, whatever its validity; one between two of them twice.
SELECT e.src, e.rel, e.dst, e.weight, e.created, e.valid_from, e.valid_to, e.properties FROM remloom.edges e
WHERE 0 = ANY (%(sides)b::integer[]) AND e.tenant_id = t.tenant AND e.src = ANY (%(keys)b::text[])
UNION ALL
SELECT e.src, e.rel, e.dst, e.weight, e.created, e.valid_from, e.valid_to, e.properties FROM remloom.edges e
WHERE 1 = ANY (%(sides)b::integer[]) AND e.tenant_id = t.tenant AND e.dst = ANY (%(keys)b::text[]);

-- name: all_edges
-- Every edge, in the order of its keys.
SELECT e.src, e.rel, e.dst, e.weight, e.created, e.valid_from, e.valid_to, e.properties
FROM remloom.edges e WHERE e.tenant_id = %(tenant)s ORDER BY e.src, e.rel, e.dst;

-- name: edge_types
-- The types that edges have.
SELECT r.rel FROM remloom.rels r WHERE r.tenant_id = t.tenant ORDER BY r.rel;

-- name: whole_keys
-- What shortened keys stand for.
SELECT n.key, n.label FROM remloom.names n WHERE n.tenant_id = t.tenant AND n.key = ANY (%(keys)b::text[]);

-- name: all_whole_keys
-- Every shortened key, with what it stands for.
SELECT key, label FROM remloom.names WHERE tenant_id = %(tenant)s AND label IS NOT NULL;
