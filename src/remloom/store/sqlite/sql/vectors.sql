-- name: next_pending
-- The texts that wait for their vectors, those tried least often first.
SELECT r.id, p.attempts, p.error, r.doc, r.schema, r.body, r.content FROM pending p CROSS JOIN records r ON r.rid = p.rid
WHERE p.parked = 0 AND (r.expires IS NULL OR r.expires > :now) ORDER BY p.attempts, p.rid LIMIT :limit;

-- name: pending_among
-- Those of the records of some ids whose texts wait for their vectors.
SELECT r.id, p.attempts, p.error, r.doc, r.schema, r.body, r.content
FROM json_each(:ids) i CROSS JOIN records r ON r.id = i.value CROSS JOIN pending p ON p.rid = r.rid
WHERE p.parked = 0 AND (r.expires IS NULL OR r.expires > :now) ORDER BY p.attempts, p.rid LIMIT :limit;

-- name: unembedded_by_model
-- The records with a text that has no vectors of a model, in the order of their texts.
SELECT r.id, 0, '', r.doc, r.schema, r.body, r.content FROM records r
WHERE r.doc > :after AND (r.expires IS NULL OR r.expires > :now) AND NOT EXISTS (
  SELECT 1 FROM vectors v JOIN models m USING (model) WHERE v.rid = r.rid AND m.name = :model
)
ORDER BY r.doc LIMIT :limit;

-- name: count_pending
-- How many texts wait for their vectors, and how many are parked.
SELECT waiting, (SELECT count(*) FROM pending) - waiting
FROM (SELECT count(*) AS waiting FROM pending WHERE parked = 0);

-- name: count_failure
-- Counts a failed attempt, and parks the text after the last that is allowed.
UPDATE pending SET attempts = attempts + 1, error = :error, parked = (attempts + 1 >= :most)
WHERE rid = (SELECT rid FROM records WHERE id = :id);

-- name: unpark
-- Puts every parked text back in the queue.
UPDATE pending SET parked = 0, attempts = 0 WHERE parked = 1;

-- name: cached_vector
-- A vector of a text embedded before by a model.
SELECT v.data FROM vectors v JOIN models m USING (model) WHERE v.hash = :digest AND m.name = :model LIMIT 1;

-- name: windows
-- The windows of some records that serve, in order.
SELECT r.id, v.first, v.last, v.data, v.hash
FROM json_each(:ids) i CROSS JOIN records r ON r.id = i.value CROSS JOIN vectors v ON v.rid = r.rid
JOIN models m USING (model) WHERE m.current = 1 ORDER BY v.vid;

-- name: newest_numbers
-- The highest numbers given out and the model that serves: what an index has to be compared with.
SELECT lid, vid, doc, dead, (SELECT model FROM models WHERE current = 1) FROM sequence;

-- name: texts_after
-- The texts above a number, as many as are read at a time.
SELECT r.doc, r.schema, r.body, r.content FROM records r WHERE r.doc > :number
  AND (r.expires IS NULL OR r.expires > :now) ORDER BY r.doc LIMIT :limit;

-- name: entities_after
-- The entities above a number, as many as are looked at together: one range of the index for each of their types, so that
-- other records cost nothing.
WITH RECURSIVE types (type) AS (
  SELECT min(type) FROM records INDEXED BY records_type WHERE schema = 'entities'
  UNION ALL
  SELECT (SELECT min(n.type) FROM records n INDEXED BY records_type WHERE n.schema = 'entities' AND n.type > t.type)
  FROM types t WHERE t.type IS NOT NULL
), numbers (rid) AS MATERIALIZED (
  -- the last of the types is NULL, which an entity may have
  SELECT e.rid FROM types t CROSS JOIN records e INDEXED BY records_type ON e.schema = 'entities' AND e.type IS t.type AND e.rid IN (
    SELECT n.rid FROM records n INDEXED BY records_type
    WHERE n.schema = 'entities' AND n.type IS t.type AND n.rid > :after ORDER BY n.rid LIMIT :limit
  )
  ORDER BY e.rid LIMIT :limit
)
SELECT r.rid, r.expires, r.body FROM numbers n CROSS JOIN records r ON r.rid = n.rid ORDER BY r.rid;

-- name: vectors_after
-- The vectors of a model above a number, as many as are read at a time.
SELECT vid, data FROM vectors WHERE vid > :after AND model = :model ORDER BY vid LIMIT :limit;

-- name: labels_after
-- The labels above a number.
SELECT lid, key FROM labels WHERE lid > :after ORDER BY lid;

-- name: prune_tombstones
-- Drops the tombstones that every snapshot knows of, but for the latest.
DELETE FROM dead
WHERE seq < min((SELECT dead FROM sequence) - :latest, (SELECT coalesce(min(dead), 9e18) FROM snapshots));

-- name: current_model
-- The model whose vectors are searched, its name, and their dimensions.
SELECT model, name, dims FROM models WHERE current = 1;
