-- name: get_record
-- The record of an id.
SELECT r.schema, r.body, r.content FROM remloom.records r WHERE r.tenant_id = t.tenant AND r.id = %(id)s;

-- name: records_of_ids
-- The records of some ids.
SELECT r.schema, r.body, r.content FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.id = ANY(%(ids)s::text[]);

-- name: keys_from
-- The keys in a range, in their order, each with its record.
SELECT coalesce(n.label, n.key), n.rank, r.schema, r.body, r.content
FROM remloom.names n JOIN remloom.records r ON r.tenant_id = n.tenant_id AND r.id = n.id
WHERE n.tenant_id = %(tenant)s AND n.key >= %(first)s AND n.key < %(end)s
  AND (r.expires IS NULL OR r.expires > %(now)s) ORDER BY n.key LIMIT %(limit)s;

-- name: first_words
-- Of some words, those that a key is or begins with before its first hyphen, and a few more.
SELECT v.word FROM unnest(%(words)s::text[]) v (word)
-- The first key from there on: a range of two bounds would be read to its end.
CROSS JOIN LATERAL (
  SELECT n.key FROM remloom.names n WHERE n.tenant_id = %(tenant)s AND n.key >= v.word ORDER BY n.key LIMIT 1
) n
WHERE n.key < v.word || '.';

-- name: first_names
-- Of the names of a range that are alike up to a mark, the first. `next` is the mark with its last character raised by one.
WITH RECURSIVE found (name, id) AS (
  (SELECT (r.body ->> 'name') COLLATE "C", r.id FROM remloom.own_records r
   WHERE r.tenant_id = %(tenant)s AND r.schema = 'resources' AND (r.type || '') = %(category)s
     AND remloom.sortable((r.body -> 'name')) COLLATE "C" >= '2' || left(%(first)s, 200)
     AND (r.body ->> 'name') COLLATE "C" >= %(first)s AND (r.body ->> 'name') COLLATE "C" < %(end)s
     AND (r.expires IS NULL OR r.expires > %(now)s)
   ORDER BY remloom.sortable((r.body -> 'name')) COLLATE "C" NULLS FIRST, (r.body ->> 'name') COLLATE "C" LIMIT 1)
  UNION ALL
  SELECT n.name, n.id FROM found f CROSS JOIN LATERAL (
    SELECT CASE strpos(f.name, %(mark)s) WHEN 0 THEN f.name || chr(1)
      ELSE left(f.name, strpos(f.name, %(mark)s) - 1) || %(next)s END AS first
  ) b CROSS JOIN LATERAL (
    SELECT (r.body ->> 'name') COLLATE "C" AS name, r.id FROM remloom.own_records r
    WHERE r.tenant_id = %(tenant)s AND r.schema = 'resources' AND (r.type || '') = %(category)s
      AND remloom.sortable((r.body -> 'name')) COLLATE "C" >= '2' || left(b.first, 200)
      AND (r.body ->> 'name') COLLATE "C" >= b.first AND (r.body ->> 'name') COLLATE "C" < %(end)s
      AND (r.expires IS NULL OR r.expires > %(now)s)
    ORDER BY remloom.sortable((r.body -> 'name')) COLLATE "C" NULLS FIRST, (r.body ->> 'name') COLLATE "C" LIMIT 1
  ) n
)
SELECT name, id FROM found LIMIT %(limit)s;

-- name: chunks
-- The first chunks of a document in a range of ordinals, or the last.
SELECT r.schema, r.body, r.content FROM remloom.own_records r
WHERE r.tenant_id = %(tenant)s AND r.schema = 'resources' AND md5(r.uri) = md5(%(uri)s) AND r.uri = %(uri)s
  AND coalesce((r.body ->> 'ordinal')::bigint, 0) > %(after)s
  AND coalesce((r.body ->> 'ordinal')::bigint, 0) < %(before)s AND (r.expires IS NULL OR r.expires > %(now)s)
ORDER BY coalesce((r.body ->> 'ordinal')::bigint, 0) {way}, r.seq {way} LIMIT %(limit)s;

-- name: originating
-- What came from a source beside its chunks.
SELECT r.schema, r.body, r.content FROM remloom.own_records r
WHERE r.tenant_id = %(tenant)s AND md5(CASE r.schema
  WHEN 'resources' THEN r.body ->> 'origin'
  WHEN 'entities' THEN r.body #>> '{properties,uri}'
  WHEN 'moments' THEN r.body #>> '{metadata,uri}'
END) = md5(%(source)s)
  AND (CASE r.schema
  WHEN 'resources' THEN r.body ->> 'origin'
  WHEN 'entities' THEN r.body #>> '{properties,uri}'
  WHEN 'moments' THEN r.body #>> '{metadata,uri}'
END) = %(source)s AND (r.expires IS NULL OR r.expires > %(now)s)
ORDER BY r.seq;

-- name: messages
-- The turns of a chat whose messages had some ids, in their order; `hashes` are those of the URI and each id.
SELECT r.schema, r.body, r.content
FROM (
  SELECT f.* FROM unnest(%(hashes)s::text[]) w (hash) CROSS JOIN LATERAL (
    SELECT r.* FROM remloom.own_records r
    WHERE r.tenant_id = %(tenant)s AND r.schema = 'resources' AND (r.body #>> '{metadata,message_ids,0}') IS NOT NULL
      AND md5(r.uri || chr(10) || (r.body #>> '{metadata,message_ids,0}')) = w.hash OFFSET 0
  ) f
) r
WHERE r.uri = %(uri)s AND (r.body #>> '{metadata,message_ids,0}') = ANY (%(ids)s)
ORDER BY coalesce((r.body ->> 'ordinal')::bigint, 0), r.seq;

-- name: referring_moments
-- The moments that refer to some records, in the order of writing.
SELECT r.schema, r.body, r.content FROM remloom.own_records r
WHERE r.tenant_id = %(tenant)s AND r.schema = 'moments' AND r.id IN (
  SELECT p.child FROM remloom.parents p WHERE p.tenant_id = r.tenant_id AND p.parent = ANY (%(ids)s) AND p.kind = 1
)
ORDER BY r.seq;

-- name: children
-- The records that derive from one, in the order of writing.
SELECT r.id FROM remloom.parents p JOIN remloom.records r ON r.tenant_id = p.tenant_id AND r.id = p.child
WHERE p.tenant_id = %(tenant)s AND p.parent = %(id)s AND p.kind = 0 ORDER BY r.seq;

-- name: parents_of_all
-- What some records derive from, what that said, and whether it is gone; what a moment refers to, if it was made of it.
SELECT child, id, digest, gone FROM (
  SELECT p.child, r.id, p.digest, false AS gone, r.seq, '' AS key
  FROM remloom.parents p JOIN remloom.records r ON r.tenant_id = p.tenant_id AND r.id = p.parent
  WHERE p.tenant_id = %(tenant)s AND p.child = ANY (%(ids)s) AND (p.kind = 0 OR p.digest IS NOT NULL)
  UNION ALL
  SELECT i.id, v.body ->> 'id', (v.body ->> 'said')::bigint, true, NULL, j.id
  FROM unnest(%(ids)s::text[]) i (id) JOIN remloom.journal j ON j.tenant_id = %(tenant)s AND j.kind = 'premise'
    AND j.id >= (i.id || chr(31) || 'lost:') COLLATE "C" AND j.id < (i.id || chr(31) || 'lost;') COLLATE "C"
  CROSS JOIN LATERAL (SELECT convert_from(j.data, 'UTF8')::jsonb AS body) v
) p ORDER BY seq, key;

-- name: premises
-- What some records rest on, where it says something else than it did, has expired, is gone or in an entry, or rests on others itself.
SELECT child, id, digest, says, updated, expires, other FROM (
  SELECT p.child, r.id, p.digest, r.says, r.updated, r.expires, NULL AS other, r.seq, '' AS key
  FROM remloom.parents p JOIN remloom.records r ON r.tenant_id = p.tenant_id AND r.id = p.parent
  WHERE p.tenant_id = %(tenant)s AND p.child = ANY (%(ids)s) AND (p.kind = 0 OR p.digest IS NOT NULL)
    AND (p.digest IS NOT NULL AND p.digest IS DISTINCT FROM r.says OR r.expires <= %(now)s OR EXISTS (
      SELECT FROM remloom.parents q
      WHERE q.tenant_id = %(tenant)s AND q.child = p.parent AND (q.kind = 0 OR q.digest IS NOT NULL)
    ) OR EXISTS (
      SELECT FROM remloom.journal k WHERE k.tenant_id = %(tenant)s AND k.kind = 'premise'
        AND k.id >= (p.parent || chr(31)) COLLATE "C" AND k.id < (p.parent || chr(32)) COLLATE "C"
    ))
  UNION ALL
  SELECT i.id, '', NULL, NULL, 0, NULL, convert_from(j.data, 'UTF8'), NULL, j.id
  FROM unnest(%(ids)s::text[]) i (id) JOIN remloom.journal j ON j.tenant_id = %(tenant)s AND j.kind = 'premise'
    AND j.id >= (i.id || chr(31)) COLLATE "C" AND j.id < (i.id || chr(32)) COLLATE "C"
) p ORDER BY child, seq, key;

-- name: resting
-- What rests on records with some ids or keys: what was derived from them, and moments that were made of them.
SELECT c.id FROM remloom.records c
WHERE c.tenant_id = %(tenant)s AND c.id IN (
  SELECT p.child FROM remloom.parents p
  WHERE p.tenant_id = %(tenant)s AND (p.kind = 0 OR p.digest IS NOT NULL) AND p.parent = ANY (
    %(ids)s::text[] || ARRAY(SELECT n.id FROM remloom.names n WHERE n.tenant_id = %(tenant)s AND n.key = ANY (%(keys)s::text[]))
  )
) AND (%(category)s::text IS NULL OR c.type = %(category)s) ORDER BY c.seq;

-- name: parents
-- The records that one derives from, in the order of writing.
SELECT r.id FROM remloom.parents p JOIN remloom.records r ON r.tenant_id = p.tenant_id AND r.id = p.parent
WHERE p.tenant_id = %(tenant)s AND p.child = %(id)s AND p.kind = 0 ORDER BY r.seq;

-- name: moments_between
-- The moments that overlap a time, in the order of their start.
-- Those of more than 31 days have an index of their own; of the others none that began earlier than
-- that can overlap it.
SELECT r.schema, r.body, r.content
FROM (
  SELECT * FROM remloom.records r
  WHERE r.tenant_id = %(tenant)s AND r.schema = 'moments'
    AND r.starts >= %(first)s - 2678400000000 AND r.starts < %(last)s
    AND (r.ends > %(first)s OR r.starts >= %(first)s) AND r.ends - r.starts <= 2678400000000
  UNION ALL
  SELECT * FROM remloom.records r
  WHERE r.tenant_id = %(tenant)s AND r.schema = 'moments'
    AND r.ends - r.starts > 2678400000000 AND r.ends > %(first)s AND r.starts < %(last)s
) r
ORDER BY r.starts, r.seq;

-- name: expired
-- The records that have expired, those of the earliest time first.
SELECT r.schema, r.body, r.content FROM remloom.records r
WHERE r.tenant_id = %(tenant)s AND r.expires <= %(now)s ORDER BY r.expires, r.seq LIMIT %(limit)s;

-- name: last_expired
-- When the last record expired that has; NULL when none has.
SELECT max(r.expires) FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.expires <= %(now)s;

-- name: all_records
-- Every record but for thin entities, with what it derives from (see `parents_of_all`), in the order of writing.
SELECT r.schema, r.body, r.content, o.ids, o.digests, o.gone
FROM remloom.records r CROSS JOIN LATERAL (
  SELECT array_agg(x.id ORDER BY x.seq, x.key) AS ids, array_agg(x.digest ORDER BY x.seq, x.key) AS digests,
    array_agg(x.gone ORDER BY x.seq, x.key) AS gone
  FROM (
    SELECT p.parent AS id, p.digest, false AS gone, q.seq, '' AS key
    FROM remloom.parents p JOIN remloom.records q ON q.tenant_id = p.tenant_id AND q.id = p.parent
    WHERE p.tenant_id = r.tenant_id AND p.child = r.id AND (p.kind = 0 OR p.digest IS NOT NULL)
    UNION ALL
    SELECT v.body ->> 'id', (v.body ->> 'said')::bigint, true, NULL, j.id
    FROM remloom.journal j CROSS JOIN LATERAL (SELECT convert_from(j.data, 'UTF8')::jsonb AS body) v
    WHERE j.tenant_id = r.tenant_id AND j.kind = 'premise'
      AND j.id >= (r.id || chr(31) || 'lost:') COLLATE "C" AND j.id < (r.id || chr(31) || 'lost;') COLLATE "C"
  ) x
) o
WHERE r.tenant_id = %(tenant)s AND (%(schema)s::text IS NULL OR r.schema = %(schema)s) AND NOT r.thin ORDER BY r.seq;

-- name: texts_after
-- The records whose texts have a number above one, by that number.
SELECT r.doc, r.schema, r.body, r.content FROM remloom.records r
WHERE r.tenant_id = %(tenant)s AND r.doc > %(number)s AND (r.expires IS NULL OR r.expires > %(now)s) ORDER BY r.doc LIMIT %(limit)s;

-- name: entities_after
-- The entities that were written first after the record with a number, in that order.
SELECT r.seq, r.schema, r.body, r.content FROM remloom.records r
WHERE r.tenant_id = %(tenant)s AND r.schema = 'entities' AND r.seq > %(number)s AND (r.expires IS NULL OR r.expires > %(now)s)
ORDER BY r.seq LIMIT %(limit)s;

-- name: all_thin
-- Every thin entity, in the order of the ids; the last three columns are as in `all_records`.
SELECT r.schema, r.body, r.content, NULL::text[], NULL::bigint[], NULL::boolean[]
FROM remloom.records r
WHERE r.tenant_id = %(tenant)s AND (%(schema)s::text IS NULL OR r.schema = %(schema)s) AND r.thin ORDER BY r.id;

-- name: query_records
-- The records that meet a condition.
SELECT r.schema, r.body, r.content FROM remloom.own_records r
WHERE r.tenant_id = %s AND {condition} ORDER BY {order};

-- name: query_some_records
-- Some of the records that meet a condition.
SELECT r.schema, r.body, r.content FROM remloom.own_records r
WHERE r.tenant_id = %s AND {condition} ORDER BY {order} LIMIT %s OFFSET %s;

-- name: has_value
-- Whether some record of a schema has a value.
SELECT 1 FROM remloom.records r WHERE r.tenant_id = %s AND r.schema = %s AND {value} IS NOT NULL LIMIT 1;

-- name: remaining_ids
-- Those of some ids that a table still has.
SELECT {column} FROM remloom.{table} WHERE tenant_id = %(tenant)s AND {column} = ANY (%(ids)s);

-- name: texts_by_number
-- The records whose texts have some numbers, as far as they meet a condition.
SELECT r.doc, r.schema, r.body, r.content FROM remloom.records r
WHERE r.tenant_id = %s AND r.doc = ANY (%s){condition};
