-- name: insert_names
-- Give records their keys.
INSERT INTO remloom.names
SELECT %(tenant)s, * FROM unnest(
  %(key)b::text[], %(id)b::text[], %(rank)b::integer[], %(label)b::text[], %(kin)b::boolean[], %(number)b::bigint[]
);

-- name: delete_names
-- Take records their keys.
DELETE FROM remloom.names WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)b::text[]) RETURNING key, label;

-- name: key_owners
-- The records that have some keys, in the order in which they were written. Of a key without `all` none
-- but the thin ones matter, and there are none where a real record has it.
SELECT k.key, n.rank, n.kin, r.id, r.schema, r.type, r.thin
FROM unnest(%(keys)b::text[], %(all)b::boolean[]) k (key, "all")
-- OFFSET 0: a probe for each key, whatever the planner thinks.
CROSS JOIN LATERAL (
  SELECT n.id, n.rank, n.kin FROM remloom.names n
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
-- Of the names of some records, those that another record is called by too.
SELECT k.key FROM unnest(%(keys)b::text[], %(ids)b::text[]) k (key, id)
JOIN remloom.names n ON n.tenant_id = %(tenant)s AND n.key = k.key AND n.rank = 0 AND n.id <> k.id
JOIN remloom.records r ON r.tenant_id = %(tenant)s AND r.id = n.id AND NOT r.thin;

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
