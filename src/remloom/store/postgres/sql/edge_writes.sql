-- name: upsert_edges
-- Store edges, or merge them with those there are; tells which are new.
INSERT INTO remloom.edges AS e
SELECT %(tenant)s, src, rel, dst, weight, created, valid_from, valid_to, properties::jsonb
FROM unnest(
  %(src)b::text[], %(rel)b::text[], %(dst)b::text[], %(weight)b::float8[], %(created)b::bigint[],
  %(valid_from)b::bigint[], %(valid_to)b::bigint[], %(properties)b::text[]
) n (src, rel, dst, weight, created, valid_from, valid_to, properties)
ON CONFLICT (tenant_id, src, rel, dst) DO UPDATE SET
  weight = greatest(e.weight, excluded.weight),
  created = least(e.created, excluded.created),
  valid_from = least(e.valid_from, excluded.valid_from),
  valid_to = CASE WHEN excluded.valid_to IS NOT NULL THEN excluded.valid_to
                  WHEN excluded.valid_from > e.valid_to THEN NULL ELSE e.valid_to END,
  properties = CASE WHEN e.properties IS NULL THEN excluded.properties
                    WHEN excluded.properties IS NULL THEN e.properties ELSE e.properties || excluded.properties END
RETURNING src, rel, dst, xmax = 0;

-- name: delete_edges
-- Delete edges by their keys.
DELETE FROM remloom.edges e USING unnest(%(src)b::text[], %(rel)b::text[], %(dst)b::text[]) k (src, rel, dst)
WHERE e.tenant_id = %(tenant)s AND e.src = k.src AND e.rel = k.rel AND e.dst = k.dst
RETURNING e.src, e.rel, e.dst;

-- name: delete_edges_leaving
-- Delete the edges that leave some keys.
DELETE FROM remloom.edges WHERE tenant_id = %(tenant)s AND src = ANY (%(keys)b::text[]) RETURNING src, rel, dst;

-- name: delete_edges_entering
-- Delete the edges that enter some keys.
DELETE FROM remloom.edges WHERE tenant_id = %(tenant)s AND dst = ANY (%(keys)b::text[]) RETURNING src, rel, dst;

-- name: edges_by_key
-- The edges of some keys (source, type and target).
SELECT e.src, e.rel, e.dst, e.weight, e.created, e.valid_from, e.valid_to, e.properties FROM remloom.edges e
WHERE e.tenant_id = %(tenant)s
  AND (e.src, e.rel, e.dst) IN (SELECT * FROM unnest(%(src)b::text[], %(rel)b::text[], %(dst)b::text[]));

-- name: edges_at_ends
-- Every edge that leaves or enters some keys, once.
SELECT e.src, e.rel, e.dst, e.weight, e.created, e.valid_from, e.valid_to, e.properties FROM remloom.edges e
WHERE e.tenant_id = %(tenant)s AND (e.src = ANY (%(keys)b::text[]) OR e.dst = ANY (%(keys)b::text[]));

-- name: count_at_keys
-- Add to how many edges of a type leave (side 0) or enter (side 1) keys.
INSERT INTO remloom.degrees
SELECT %(tenant)s, * FROM unnest(%(key)b::text[], %(side)b::integer[], %(rel)b::text[], %(edges)b::bigint[])
ON CONFLICT (tenant_id, key, side, rel) DO UPDATE SET edges = degrees.edges + excluded.edges;

-- name: count_of_types
-- Add to how many edges have a type.
INSERT INTO remloom.rels SELECT %(tenant)s, * FROM unnest(%(rel)b::text[], %(edges)b::bigint[])
ON CONFLICT (tenant_id, rel) DO UPDATE SET edges = rels.edges + excluded.edges;

-- name: delete_unused_types
-- Delete the types that no edge has any more.
DELETE FROM remloom.rels WHERE tenant_id = %(tenant)s AND rel = ANY (%(rels)b::text[]) AND edges = 0;

-- name: delete_empty_degrees
-- Delete the counts of keys that have come to nothing.
DELETE FROM remloom.degrees WHERE tenant_id = %(tenant)s AND key = ANY (%(keys)b::text[]) AND edges = 0;
