-- name: get_record
-- A record by its id.
SELECT r.rid, r.schema, r.body, r.content FROM records r WHERE r.id = :id;

-- name: records_of_ids
-- The records of some ids.
SELECT r.rid, r.schema, r.body, r.content FROM json_each(:ids) i CROSS JOIN records r ON r.id = i.value;

-- name: lookup
-- The records that have one key, among their names and aliases.
SELECT l.key, n.rank, r.rid, r.schema, r.body, r.content, l.lid, l.linked, n.total
FROM labels l CROSS JOIN names n ON n.lid = l.lid CROSS JOIN records r ON r.rid = n.rid
WHERE l.key = :key;

-- name: lookup_all
-- The records that have one of some keys.
SELECT l.key, n.rank, r.rid, r.schema, r.body, r.content, l.lid, l.linked, n.total
FROM json_each(:keys) k CROSS JOIN labels l ON l.key = k.value
CROSS JOIN names n ON n.lid = l.lid CROSS JOIN records r ON r.rid = n.rid;

-- name: lookup_some
-- The records that have one of some keys, or whose edges are there, of each at most a number.
SELECT l.key, n.rank, r.rid, r.schema, r.body, r.content, l.lid, l.linked, n.total
FROM json_each(:keys) k CROSS JOIN labels l ON l.key = k.value
CROSS JOIN names n ON n.lid = l.lid AND n.rid IN (
  SELECT s.rid FROM names s CROSS JOIN records o ON o.rid = s.rid
  WHERE s.lid = l.lid AND (:own = 0 OR s.total > 0) AND (o.expires IS NULL OR o.expires > :now) ORDER BY s.rid LIMIT :limit
)
CROSS JOIN records r ON r.rid = n.rid;

-- name: complete
-- The records whose keys are in a range, in the order of the keys.
SELECT r.body ->> '$.name', n.rank, l.key, r.schema, r.body, r.content
FROM labels l CROSS JOIN names n ON n.lid = l.lid CROSS JOIN records r ON r.rid = n.rid
WHERE l.key >= :first AND l.key < :last AND (r.expires IS NULL OR r.expires > :now) ORDER BY l.key LIMIT :limit;

-- name: first_words
-- Of some words, those that a key is or begins with.
SELECT w.value FROM json_each(:words) w
-- A point is what follows a hyphen in the order of characters.
WHERE EXISTS (SELECT 1 FROM labels l WHERE l.key >= w.value AND l.key < w.value || '.');

-- name: first_names
-- Of the names of a range that are alike up to a mark, the first. `next` is the mark with its last character raised by one.
WITH RECURSIVE found (name, id) AS (
  SELECT * FROM (
    SELECT r.body ->> '$.name', r.id FROM records r
    WHERE r.schema = 'resources' AND r.body ->> '$.name' >= :first AND r.body ->> '$.name' < :end
      AND +r.type = :category AND (r.expires IS NULL OR r.expires > :now)
    ORDER BY r.body ->> '$.name' LIMIT 1
  )
  UNION ALL
  SELECT n.body ->> '$.name', n.id FROM found f CROSS JOIN records n WHERE n.rid = (
    SELECT r.rid FROM records r
    WHERE r.schema = 'resources' AND r.body ->> '$.name' < :end
      AND r.body ->> '$.name' >=
        iif(instr(f.name, :mark), substr(f.name, 1, instr(f.name, :mark) - 1) || :next, f.name || char(1))
      AND +r.type = :category AND (r.expires IS NULL OR r.expires > :now)
    ORDER BY r.body ->> '$.name' LIMIT 1
  )
  LIMIT :limit
)
SELECT name, id FROM found;

-- name: chunks
-- The resources of a document within a range of ordinals.
SELECT r.rid, r.schema, r.body, r.content FROM records r
WHERE r.schema = 'resources' AND r.body ->> '$.uri' = :uri
  AND coalesce(r.body ->> '$.ordinal', 0) > :after
  AND coalesce(r.body ->> '$.ordinal', 0) < coalesce(:before, 9223372036854775807)
  AND (r.expires IS NULL OR r.expires > :now)
ORDER BY coalesce(r.body ->> '$.ordinal', 0) {way}, r.rid {way} LIMIT coalesce(:limit, -1);

-- name: originating
-- What came from a source beside its chunks.
SELECT r.rid, r.schema, r.body, r.content FROM records r INDEXED BY records_origin
WHERE CASE schema
    WHEN 'resources' THEN body ->> '$.origin'
    WHEN 'entities' THEN body ->> '$.properties.uri'
    WHEN 'moments' THEN body ->> '$.metadata.uri'
END = :source
ORDER BY r.rid;

-- name: messages
-- The turns of a chat that began with one of some messages.
SELECT r.rid, r.schema, r.body, r.content
FROM json_each(:ids) m CROSS JOIN records r INDEXED BY records_message
WHERE r.schema = 'resources' AND r.body ->> '$.uri' = :uri
  AND r.body ->> '$.metadata.message_ids[0]' = m.value
ORDER BY coalesce(r.body ->> '$.ordinal', 0), r.rid;

-- name: referring_moments
-- The moments that refer to one of some records.
SELECT DISTINCT r.rid, r.schema, r.body, r.content
FROM json_each(:ids) i CROSS JOIN records o ON o.id = i.value
CROSS JOIN parents p ON p.parent = o.rid AND p.kind = 1
CROSS JOIN records r ON r.rid = p.child AND r.schema = 'moments'
ORDER BY r.rid;

-- name: children
-- The ids of the records derived from a record.
SELECT o.id FROM records r CROSS JOIN parents p ON p.parent = r.rid CROSS JOIN records o ON o.rid = p.child
WHERE r.id = :id AND p.kind = 0 ORDER BY o.rid;

-- name: parents
-- The ids of the records that a record was derived from.
SELECT o.id FROM records r CROSS JOIN parents p ON p.child = r.rid CROSS JOIN records o ON o.rid = p.parent
WHERE r.id = :id AND p.kind = 0 ORDER BY o.rid;

-- name: parents_of_all
-- What some records were derived from, what that said, and whether it is gone; what a moment refers to, if it was made of it.
SELECT child, id, digest, gone FROM (
  SELECT c.id AS child, o.id AS id, p.digest AS digest, 0 AS gone, o.rid AS place
  FROM json_each(:ids) i CROSS JOIN records c ON c.id = i.value
  CROSS JOIN parents p ON p.child = c.rid CROSS JOIN records o ON o.rid = p.parent
  WHERE p.kind = 0 OR p.digest IS NOT NULL
  UNION ALL
  SELECT i.value, CAST(j.data AS TEXT) ->> '$.id', CAST(j.data AS TEXT) ->> '$.said', 1, j.id
  FROM json_each(:ids) i
  CROSS JOIN journal j ON j.kind = 'premise' AND j.id >= i.value || char(31) || 'lost:' AND j.id < i.value || char(31) || 'lost;'
) ORDER BY place;

-- name: premises
-- What some records rest on, where it says something else than it did, has expired, is gone or in an entry, or rests on others itself.
SELECT child, id, digest, says, updated, expires, other FROM (
  SELECT c.id AS child, o.id AS id, p.digest AS digest,
    coalesce(o.says, iif(p.digest IS NULL, NULL, said(o.schema, o.body, o.content))) AS says,
    o.updated AS updated, o.expires AS expires, NULL AS other, c.rid AS place, o.rid AS position
  FROM json_each(:ids) i CROSS JOIN records c ON c.id = i.value
  CROSS JOIN parents p ON p.child = c.rid AND (p.kind = 0 OR p.digest IS NOT NULL) CROSS JOIN records o ON o.rid = p.parent
  WHERE (p.digest IS NOT NULL AND p.digest IS NOT o.says) OR o.expires <= :now
    OR EXISTS (SELECT 1 FROM parents q WHERE q.child = p.parent AND (q.kind = 0 OR q.digest IS NOT NULL))
    OR EXISTS (SELECT 1 FROM journal k WHERE k.kind = 'premise' AND k.id >= o.id || char(31) AND k.id < o.id || char(32))
  UNION ALL
  SELECT c.id, '', NULL, NULL, 0, NULL, CAST(j.data AS TEXT), c.rid, j.id
  FROM json_each(:ids) i CROSS JOIN records c ON c.id = i.value
  CROSS JOIN journal j ON j.kind = 'premise' AND j.id >= c.id || char(31) AND j.id < c.id || char(32)
) ORDER BY place, position;

-- name: resting
-- What rests on records with some ids or keys: what was derived from them, and moments that were made of them.
SELECT DISTINCT c.id FROM (
  SELECT r.rid FROM json_each(:ids) i CROSS JOIN records r ON r.id = i.value
  UNION ALL
  SELECT n.rid FROM json_each(:keys) k CROSS JOIN labels l ON l.key = k.value CROSS JOIN names n ON n.lid = l.lid
) o
CROSS JOIN parents p ON p.parent = o.rid AND (p.kind = 0 OR p.digest IS NOT NULL) CROSS JOIN records c ON c.rid = p.child
WHERE :category IS NULL OR c.type = :category
ORDER BY c.rid;

-- name: parents_of
-- The same, by the number of the record.
SELECT id, digest, gone FROM (
  SELECT o.id AS id, p.digest AS digest, 0 AS gone, o.rid AS place FROM parents p JOIN records o ON o.rid = p.parent
  WHERE p.child = :record_no AND (p.kind = 0 OR p.digest IS NOT NULL)
  UNION ALL
  SELECT CAST(j.data AS TEXT) ->> '$.id', CAST(j.data AS TEXT) ->> '$.said', 1, j.id FROM records c
  CROSS JOIN journal j ON j.kind = 'premise' AND j.id >= c.id || char(31) || 'lost:' AND j.id < c.id || char(31) || 'lost;'
  WHERE c.rid = :record_no
) ORDER BY place;

-- name: moments_between
-- The moments that overlap a window of time, in the order of their starts.
SELECT r.rid, r.schema, r.body, r.content, r.starts FROM records r
WHERE r.schema = 'moments'
  -- Those of up to 31 days, in microseconds: none of them began earlier than that before the window.
  AND r.starts >= :first - 2678400000000 AND r.starts < :last
  AND (r.ends > :first OR r.starts >= :first) AND r.ends - r.starts <= 2678400000000
UNION ALL
SELECT r.rid, r.schema, r.body, r.content, r.starts FROM records r INDEXED BY records_long
WHERE r.ends - r.starts > 2678400000000 AND r.ends > :first AND r.starts < :last AND r.schema = 'moments'
ORDER BY 5, 1;

-- name: all_written
-- Every record of one schema or of all, but for the thin entities. Full scan.
SELECT r.rid, r.schema, r.body, r.content FROM records r
WHERE r.thin IS NOT 1 AND (:schema IS NULL OR r.schema = :schema) ORDER BY r.rid;

-- name: all_thin
-- The thin entities, if they are of the schema that is asked for.
SELECT r.rid, r.schema, r.body, r.content FROM records r
WHERE r.thin = 1 AND r.schema = 'entities' AND coalesce(:schema, 'entities') = 'entities' ORDER BY r.id;

-- name: expired
-- The records that have expired, those of the earliest time first.
SELECT r.rid, r.schema, r.body, r.content FROM records r
WHERE r.expires <= :now ORDER BY r.expires, r.rid LIMIT :limit;

-- name: last_expired
-- When the last record expired that has; NULL when none has.
SELECT max(expires) FROM records WHERE expires <= :now;
