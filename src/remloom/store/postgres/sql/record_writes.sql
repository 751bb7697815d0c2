-- name: insert_records
-- Store new records.
INSERT INTO remloom.records
SELECT %(tenant)s, id, seq, schema, type, thin, starts, ends, created, updated, doc, uri, body::jsonb, content, expires, says
FROM unnest(
  %(id)b::text[], %(seq)b::bigint[], %(schema)b::text[], %(type)b::text[], %(thin)b::boolean[], %(starts)b::bigint[],
  %(ends)b::bigint[], %(created)b::bigint[], %(updated)b::bigint[], %(doc)b::bigint[], %(uri)b::text[], %(body)b::text[],
  %(content)b::text[], %(expires)b::bigint[], %(says)b::bigint[]
) r (id, seq, schema, type, thin, starts, ends, created, updated, doc, uri, body, content, expires, says);

-- name: replace_records
-- Store records over the old ones of their ids, which keep their `seq` and schema.
INSERT INTO remloom.records
SELECT %(tenant)s, id, seq, schema, type, thin, starts, ends, created, updated, doc, uri, body::jsonb, content, expires, says
FROM unnest(
  %(id)b::text[], %(seq)b::bigint[], %(schema)b::text[], %(type)b::text[], %(thin)b::boolean[], %(starts)b::bigint[],
  %(ends)b::bigint[], %(created)b::bigint[], %(updated)b::bigint[], %(doc)b::bigint[], %(uri)b::text[], %(body)b::text[],
  %(content)b::text[], %(expires)b::bigint[], %(says)b::bigint[]
) r (id, seq, schema, type, thin, starts, ends, created, updated, doc, uri, body, content, expires, says)
ON CONFLICT (tenant_id, id) DO UPDATE SET
  type = excluded.type, thin = excluded.thin, starts = excluded.starts, ends = excluded.ends,
  created = excluded.created, updated = excluded.updated, doc = excluded.doc,
  uri = excluded.uri, body = excluded.body, content = excluded.content, expires = excluded.expires, says = excluded.says;

-- name: stored_records
-- The records of some ids, with their numbers.
SELECT r.id, r.seq, r.doc, r.schema, r.body, r.content
FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.id = ANY (%(ids)b::text[]);

-- name: revisions
-- The revisions of records, of those that have not expired.
SELECT id, coalesce((body ->> 'revision')::bigint, 0) FROM remloom.records
WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)b::text[]) AND (expires IS NULL OR expires > %(now)s);

-- name: text_numbers
-- The numbers of the texts of records.
SELECT id, doc FROM remloom.records WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)b::text[]);

-- name: delete_records
-- Delete records, and their provenance with them.
DELETE FROM remloom.records WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)b::text[]);

-- name: update_body
-- Store the JSON of a record.
UPDATE remloom.records SET body = %(body)s::text::jsonb WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: set_expiry
-- Store when records expire, of those that have not expired.
UPDATE remloom.records r SET expires = %(expires)s,
  body = CASE WHEN %(shown)s::text IS NULL THEN r.body - 'expires_at'
              ELSE r.body || jsonb_build_object('expires_at', %(shown)s::text) END
         || CASE WHEN r.expires IS DISTINCT FROM %(expires)s THEN jsonb_build_object('revision', i.revision) ELSE '{}' END
FROM unnest(%(ids)b::text[], %(revisions)b::bigint[]) i (id, revision)
WHERE r.tenant_id = %(tenant)s AND r.id = i.id AND (r.expires IS NULL OR r.expires > %(now)s);

-- name: expired_among
-- The records that have expired and have one of some ids, or one of some keys.
SELECT r.id FROM remloom.records r
WHERE r.tenant_id = %(tenant)s AND r.id = ANY (%(ids)b::text[]) AND r.expires <= %(now)s
UNION
SELECT r.id FROM unnest(%(keys)b::text[]) k (key)
CROSS JOIN LATERAL (
  SELECT n.id FROM remloom.names n WHERE n.tenant_id = %(tenant)s AND n.key = k.key OFFSET 0
) n
CROSS JOIN LATERAL (
  SELECT r.id FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.id = n.id AND r.expires <= %(now)s OFFSET 0
) r;

-- name: rested_on
-- Of records with some ids or keys, those that something rests on.
SELECT r.id, r.says, r.expires FROM remloom.records r
WHERE r.tenant_id = %(tenant)s AND r.id = ANY (
  %(ids)s::text[] || ARRAY(SELECT n.id FROM remloom.names n WHERE n.tenant_id = %(tenant)s AND n.key = ANY (%(keys)s::text[]))
) AND EXISTS (
  SELECT FROM remloom.parents p
  WHERE p.tenant_id = %(tenant)s AND p.parent = r.id AND (p.kind = 0 OR p.digest IS NOT NULL)
);

-- name: insert_parents
-- Store what records derive from (kind 0) or refer to (kind 1), as far as that is there, and what it said.
INSERT INTO remloom.parents AS o
SELECT %(tenant)s, p.child, p.parent, p.kind, p.digest
FROM unnest(%(child)b::text[], %(parent)b::text[], %(kind)b::integer[], %(digest)b::bigint[]) p (child, parent, kind, digest)
WHERE EXISTS (SELECT FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.id = p.parent)
ON CONFLICT (tenant_id, child, parent) DO UPDATE SET digest = excluded.digest WHERE o.digest IS DISTINCT FROM excluded.digest;

-- name: said
-- What some records say, and of those from before that was kept, the records.
SELECT r.id, r.says, CASE WHEN r.says IS NULL THEN r.schema END, CASE WHEN r.says IS NULL THEN r.body END,
  CASE WHEN r.says IS NULL THEN r.content END
FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.id = ANY (%(ids)b::text[]);

-- name: made_of
-- What some records were derived from.
SELECT child, parent FROM remloom.parents WHERE tenant_id = %(tenant)s AND child = ANY (%(ids)b::text[]) AND kind = 0;

-- name: stored_ids
-- Which of some ids are those of records.
SELECT id FROM remloom.records WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)b::text[]);

-- name: delete_parents
-- Delete what records refer to, and what those derive from that name their parents again.
DELETE FROM remloom.parents
WHERE tenant_id = %(tenant)s AND child = ANY (%(ids)b::text[]) AND (kind = 1 OR child = ANY (%(reparented)b::text[]));

-- name: resting_on
-- What rests on some records, and these: what was derived from them, and moments that were made of them.
SELECT c.id, p.kind, p.digest, r.schema, r.body, r.content
FROM remloom.parents p JOIN remloom.records r ON r.tenant_id = p.tenant_id AND r.id = p.parent
JOIN remloom.records c ON c.tenant_id = p.tenant_id AND c.id = p.child
WHERE p.tenant_id = %(tenant)s AND p.parent = ANY (%(ids)b::text[])
  AND (p.kind = 0 OR p.digest IS NOT NULL OR (c.body #>> '{metadata,made_by}') IS NOT NULL);

-- name: derived_ids
-- The records that derive from some.
SELECT DISTINCT child FROM remloom.parents
WHERE tenant_id = %(tenant)s AND kind = 0 AND parent = ANY (%(ids)b::text[]);

-- name: referring_records
-- The other records that refer to some.
SELECT DISTINCT ON (r.id) r.id, r.schema, r.body, r.content
FROM remloom.parents p JOIN remloom.records r ON r.tenant_id = p.tenant_id AND r.id = p.child
WHERE p.tenant_id = %(tenant)s AND p.kind = 1 AND p.parent = ANY (%(ids)b::text[]) AND p.child <> ALL (%(ids)b::text[]);
