-- name: edges_from_nothing
-- Edges whose source is not a key of a record.
SELECT e.src, e.dst FROM remloom.edges e
WHERE e.tenant_id = %(tenant)s
  AND NOT EXISTS (SELECT FROM remloom.names n WHERE n.tenant_id = e.tenant_id AND n.key = e.src) LIMIT %(limit)s;

-- name: edges_to_nothing
-- Edges whose target is not a key of a record.
SELECT e.src, e.dst FROM remloom.edges e
WHERE e.tenant_id = %(tenant)s
  AND NOT EXISTS (SELECT FROM remloom.names n WHERE n.tenant_id = e.tenant_id AND n.key = e.dst) LIMIT %(limit)s;

-- name: edges_without_type
-- Edges of a type that is not listed.
SELECT e.rel FROM remloom.edges e
WHERE e.tenant_id = %(tenant)s
  AND NOT EXISTS (SELECT FROM remloom.rels t WHERE t.tenant_id = e.tenant_id AND t.rel = e.rel) LIMIT %(limit)s;

-- name: miscounted_types
-- Types that more or fewer edges have than are counted.
SELECT t.rel FROM remloom.rels t
WHERE t.tenant_id = %(tenant)s
  AND t.edges <> (SELECT count(*) FROM remloom.edges e WHERE e.tenant_id = t.tenant_id AND e.rel = t.rel) LIMIT %(limit)s;

-- name: miscounted_keys
-- Keys at which there are more or fewer edges than are counted.
WITH counted AS (
  SELECT e.src AS key, 0 AS side, e.rel, count(*) AS edges FROM remloom.edges e
  WHERE e.tenant_id = %(tenant)s GROUP BY 1, 2, 3
  UNION ALL
  SELECT e.dst, 1, e.rel, count(*) FROM remloom.edges e WHERE e.tenant_id = %(tenant)s GROUP BY 1, 2, 3
)
SELECT DISTINCT coalesce(c.key, d.key)
FROM counted c FULL JOIN (SELECT * FROM remloom.degrees WHERE tenant_id = %(tenant)s) d
  ON d.key = c.key AND d.side = c.side AND d.rel = c.rel
WHERE d.edges IS DISTINCT FROM c.edges LIMIT %(limit)s;

-- name: expiry_not_indexed
-- Records that expire at another time than the column says.
SELECT r.id FROM remloom.records r
WHERE r.tenant_id = %(tenant)s AND (r.expires IS NULL) <> (r.body ->> 'expires_at' IS NULL) LIMIT %(limit)s;

-- name: derived_without_parents
-- Derived records of which nothing tells what they were derived from.
SELECT r.id FROM remloom.records r
WHERE r.tenant_id = %(tenant)s AND r.schema = 'resources' AND coalesce((r.body ->> 'generation')::bigint, 0) > 0
  AND NOT EXISTS (
    SELECT FROM remloom.parents p WHERE p.tenant_id = r.tenant_id AND p.child = r.id AND p.kind = 0
  ) AND NOT EXISTS (
    SELECT FROM remloom.journal j WHERE j.tenant_id = r.tenant_id AND j.kind = 'premise'
      AND j.id >= (r.id || chr(31)) COLLATE "C" AND j.id < (r.id || chr(32)) COLLATE "C"
  ) LIMIT %(limit)s;

-- name: records_without_name
-- Records that have no name. As a value it is a probe for each record, where NOT EXISTS may become
-- a join that looks at every pair.
SELECT r.id FROM remloom.records r
WHERE r.tenant_id = %(tenant)s AND (
  SELECT 1 FROM remloom.names n WHERE n.tenant_id = r.tenant_id AND n.id = r.id AND n.rank = 0 LIMIT 1
) IS NULL LIMIT %(limit)s;

-- name: names_of_wrong_edges
-- Records that would be taken for those whose handle a key is, or would not though it is no handle.
SELECT n.key, n.id FROM remloom.names n
WHERE n.tenant_id = %(tenant)s AND (n.kin IS NULL) <> (NOT n.handle AND EXISTS (
  SELECT FROM remloom.names h WHERE h.tenant_id = n.tenant_id AND h.key = n.key AND h.handle
)) LIMIT %(limit)s;

-- name: names_without_record
-- Keys of records that are gone.
SELECT n.key FROM remloom.names n
WHERE n.tenant_id = %(tenant)s
  AND NOT EXISTS (SELECT FROM remloom.records r WHERE r.tenant_id = n.tenant_id AND r.id = n.id) LIMIT %(limit)s;

-- name: vectors_without_record
-- Vectors of records that are gone.
SELECT v.id FROM remloom.vectors v
WHERE v.tenant_id = %(tenant)s
  AND NOT EXISTS (SELECT FROM remloom.records r WHERE r.tenant_id = v.tenant_id AND r.id = v.id) LIMIT %(limit)s;

-- name: pending_without_record
-- Texts in the queue whose records are gone.
SELECT p.id FROM remloom.pending p
WHERE p.tenant_id = %(tenant)s
  AND NOT EXISTS (SELECT FROM remloom.records r WHERE r.tenant_id = p.tenant_id AND r.id = p.id) LIMIT %(limit)s;

-- name: thin_without_edge
-- Placeholder entities that have no edge.
SELECT r.id FROM remloom.records r
WHERE r.tenant_id = %(tenant)s AND r.thin AND NOT EXISTS (
  SELECT FROM remloom.names n JOIN remloom.edges e ON e.tenant_id = n.tenant_id AND n.key IN (e.src, e.dst)
  WHERE n.tenant_id = r.tenant_id AND n.id = r.id
    -- A name that another record has too is only shown: the edges there are the other's.
    AND (n.rank > 0 OR NOT n.kin OR NOT EXISTS (
      SELECT FROM remloom.names o WHERE o.tenant_id = n.tenant_id AND o.key = n.key AND o.id <> n.id))
) LIMIT %(limit)s;

-- name: vectors_without_model
-- Vectors of an embedder that is not registered.
SELECT v.id FROM remloom.vectors v
WHERE v.tenant_id = %(tenant)s AND NOT EXISTS (
  SELECT FROM remloom.models m WHERE m.tenant_id = v.tenant_id AND m.model = v.model AND m.dims = v.dims
) LIMIT %(limit)s;

-- name: entries_without_subject
-- Key-value entries that are not found by the records they refer to.
SELECT j.kind, j.id FROM remloom.journal j, unnest(j.subjects) s (subject)
WHERE j.tenant_id = %(tenant)s AND NOT EXISTS (
  SELECT FROM remloom.journal_subjects t
  WHERE t.tenant_id = j.tenant_id AND t.kind = j.kind AND t.id = j.id AND t.subject = s.subject
) LIMIT %(limit)s;

-- name: shared_text_numbers
-- Numbers that several texts have.
SELECT r.doc FROM remloom.records r
WHERE r.tenant_id = %(tenant)s AND r.doc IS NOT NULL GROUP BY r.doc HAVING count(*) > 1 LIMIT %(limit)s;

-- name: numbered_texts
-- Every record that has a text, with its number.
SELECT r.doc, r.schema, r.body, r.content FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.doc IS NOT NULL;
