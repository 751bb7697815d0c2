-- name: insert_names
-- Give records their keys.
INSERT INTO remloom.names (tenant_id, key, id, rank, label, kin, number, handle)
SELECT %(tenant)s, v.key, v.id, v.rank, v.label, CASE WHEN v.handle OR NOT EXISTS (
  SELECT FROM remloom.names h WHERE h.tenant_id = %(tenant)s AND h.key = v.key AND h.handle OFFSET 0
) THEN v.kin END, v.number, v.handle
FROM unnest(
  %(key)b::text[], %(id)b::text[], %(rank)b::integer[], %(label)b::text[], %(kin)b::boolean[], %(handle)b::boolean[],
  %(number)b::bigint[]
) v (key, id, rank, label, kin, handle, number);

-- name: yield_handles
-- Take keys that are the handles of rows from entities that had them for theirs.
UPDATE remloom.names n SET handle = false FROM remloom.records r
WHERE n.tenant_id = %(tenant)s AND n.key = ANY (%(keys)b::text[]) AND n.handle
  AND r.tenant_id = %(tenant)s AND r.id = n.id AND r.schema = 'entities';

-- name: hide_names
-- Note of keys that are handles that the other records which they name do not have their edges.
UPDATE remloom.names SET kin = NULL
WHERE tenant_id = %(tenant)s AND key = ANY (%(keys)b::text[]) AND NOT handle AND kin IS NOT NULL;

-- name: displaced
-- Keys that are to be handles and that one entity had for its own, with another key of that.
SELECT n.key, min(o.key) FROM remloom.names n
JOIN remloom.records r ON r.tenant_id = n.tenant_id AND r.id = n.id
LEFT JOIN LATERAL (
  SELECT o.key FROM remloom.names o
  WHERE o.tenant_id = n.tenant_id AND o.id = n.id AND o.kin IS NOT NULL AND o.key <> ALL (%(keys)b::text[])
  ORDER BY o.rank LIMIT 1
) o ON true
WHERE n.tenant_id = %(tenant)s AND n.key = ANY (%(keys)b::text[]) AND n.kin IS NOT NULL AND NOT n.handle
  AND r.schema = 'entities' AND NOT r.thin AND NOT EXISTS (
    SELECT FROM remloom.names h WHERE h.tenant_id = n.tenant_id AND h.key = n.key AND h.handle OFFSET 0
  )
GROUP BY n.key HAVING count(*) = 1 AND min(o.key) IS NOT NULL;

-- name: show_names
-- Give the records that some keys name the edges there, if they are no handles any more.
UPDATE remloom.names n SET kin = EXISTS (
  SELECT FROM remloom.names o WHERE o.tenant_id = n.tenant_id AND o.id = n.id AND o.key <> n.key
)
WHERE n.tenant_id = %(tenant)s AND n.key = ANY (%(keys)b::text[]) AND n.kin IS NULL AND NOT EXISTS (
  SELECT FROM remloom.names h WHERE h.tenant_id = n.tenant_id AND h.key = n.key AND h.handle OFFSET 0
);

-- name: keys_without_handle
-- Of some keys, those that are no record's handle.
SELECT k.key FROM unnest(%(keys)b::text[]) k (key)
WHERE NOT EXISTS (
  SELECT FROM remloom.names h WHERE h.tenant_id = %(tenant)s AND h.key = k.key AND h.handle OFFSET 0
);

-- name: own_keys
-- A key of each of some records at which edges are its own: a certain one, if that is; NULL if none.
SELECT a.position, (
  SELECT n.key FROM remloom.names n WHERE n.tenant_id = %(tenant)s AND n.id = a.id AND n.kin IS NOT NULL
  ORDER BY n.key <> a.key, n.rank LIMIT 1
)
FROM unnest(%(positions)b::bigint[], %(keys)b::text[], %(ids)b::text[]) a (position, key, id);

-- name: make_handles
-- Make keys the handles of the thin entities that stand for them.
UPDATE remloom.names n SET handle = true FROM remloom.records r
WHERE n.tenant_id = %(tenant)s AND n.key = ANY (%(keys)b::text[]) AND (n.rank > 0 OR NOT n.kin)
  AND r.tenant_id = %(tenant)s AND r.id = n.id AND r.thin
RETURNING n.key;

-- name: delete_names
-- Take records their keys.
DELETE FROM remloom.names WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)b::text[]) RETURNING key, label, id, handle;

-- name: key_owners
-- The records that have some keys, in the order in which they were written. Of a key without `all` none
-- but the thin ones matter, and there are none where a real record has it.
SELECT k.key, n.rank, n.kin, n.handle, r.id, r.schema, r.type, r.thin
FROM unnest(%(keys)b::text[], %(all)b::boolean[]) k (key, "all")
-- OFFSET 0: a probe for each key, whatever the planner thinks.
CROSS JOIN LATERAL (
  SELECT n.id, n.rank, n.kin, n.handle FROM remloom.names n
  WHERE n.tenant_id = %(tenant)s AND n.key = k.key AND (k."all" OR NOT EXISTS (
    SELECT FROM remloom.names o JOIN remloom.records p ON p.tenant_id = %(tenant)s AND p.id = o.id
    WHERE o.tenant_id = %(tenant)s AND o.key = k.key AND NOT p.thin OFFSET 0
  )) OFFSET 0
) n
CROSS JOIN LATERAL (
  SELECT r.id, r.schema, r.type, r.thin, r.seq FROM remloom.records r
  WHERE r.tenant_id = %(tenant)s AND r.id = n.id OFFSET 0
) r
ORDER BY r.seq;

-- name: shared_names
-- Of the names of some records, those whose edges another record has too.
SELECT k.key FROM unnest(%(keys)b::text[], %(ids)b::text[]) k (key, id)
JOIN remloom.names n ON n.tenant_id = %(tenant)s AND n.key = k.key AND n.rank = 0 AND n.id <> k.id
JOIN remloom.records r ON r.tenant_id = %(tenant)s AND r.id = n.id
WHERE n.kin IS NOT NULL AND (n.handle OR NOT r.thin);

-- name: same_handles
-- Of some rows, those whose handle is that of another row of their schema, with that one.
SELECT k.id, r.schema, r.body FROM unnest(%(keys)b::text[], %(ids)b::text[], %(schemas)b::text[]) k (key, id, schema)
JOIN remloom.names n ON n.tenant_id = %(tenant)s AND n.key = k.key AND n.rank = 0 AND n.id <> k.id
JOIN remloom.records r ON r.tenant_id = %(tenant)s AND r.id = n.id AND r.schema = k.schema
LIMIT 1;

-- name: free_keys
-- Of some keys, those that no record has.
SELECT k.key FROM unnest(%(keys)b::text[]) k (key)
WHERE NOT EXISTS (
  SELECT FROM remloom.names n WHERE n.tenant_id = %(tenant)s AND n.key = k.key OFFSET 0
);

-- name: unowned_keys
-- Of some keys, those that no record has, or only as the name of a thin entity that has other keys too.
SELECT k.key FROM unnest(%(keys)b::text[]) k (key)
WHERE NOT EXISTS (
  SELECT FROM remloom.names n JOIN remloom.records r ON r.tenant_id = %(tenant)s AND r.id = n.id
  WHERE n.tenant_id = %(tenant)s AND n.key = k.key AND NOT (r.thin AND n.kin AND n.rank = 0)
);

-- name: linked_keys
-- Of some keys, those that an edge leaves or enters.
SELECT k.key FROM unnest(%(keys)b::text[]) k (key)
WHERE EXISTS (
  SELECT FROM remloom.edges e WHERE e.tenant_id = %(tenant)s AND e.src = k.key
  UNION ALL SELECT FROM remloom.edges e WHERE e.tenant_id = %(tenant)s AND e.dst = k.key
);

-- name: unlinked_thin
-- The thin entities at some keys that have no edge at any of their keys.
SELECT r.id FROM unnest(%(keys)b::text[]) k (key)
CROSS JOIN LATERAL (
  SELECT n.id FROM remloom.names n WHERE n.tenant_id = %(tenant)s AND n.key = k.key OFFSET 0
) n
CROSS JOIN LATERAL (
  SELECT r.id FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.id = n.id AND r.thin OFFSET 0
) r
WHERE NOT EXISTS (
  SELECT FROM remloom.names m
  WHERE m.tenant_id = %(tenant)s AND m.id = r.id
    AND (EXISTS (SELECT FROM remloom.edges e WHERE e.tenant_id = m.tenant_id AND e.src = m.key)
         OR EXISTS (SELECT FROM remloom.edges e WHERE e.tenant_id = m.tenant_id AND e.dst = m.key))
    -- A name that another record has too is only shown: the edges there are the other's.
    AND (m.rank > 0 OR NOT m.kin OR NOT EXISTS (
      SELECT FROM remloom.names o WHERE o.tenant_id = m.tenant_id AND o.key = m.key AND o.id <> m.id))
);
