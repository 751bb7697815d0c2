-- name: token_model
-- The number of a model of token vectors, its dimensions, and up to which text it is done.
SELECT model, dims, upto FROM token_models WHERE name = :name;

-- name: token_models
-- The models that made token vectors, in the order in which they came.
SELECT name, dims FROM token_models ORDER BY model;

-- name: add_token_model
-- Registers a model of token vectors.
INSERT INTO token_models (name, dims, upto) VALUES (:name, :dims, 0) RETURNING model;

-- name: token_vectors_of_records
-- The token vectors that a model made of some records.
SELECT i.value, t.data FROM json_each(:ids) i CROSS JOIN records r ON r.id = i.value
CROSS JOIN token_models m ON m.name = :name
CROSS JOIN token_vectors t INDEXED BY token_vectors_model ON t.model = m.model AND t.rid = r.rid
WHERE r.rid NOT IN (SELECT rid FROM records WHERE expires <= :now);

-- name: texts_without_tokens
-- The texts above a number of which a model has no token vectors and none failed, oldest first.
SELECT r.id, 0, '', r.doc, r.schema, r.body, r.content FROM records r
WHERE r.doc > :upto AND r.rid NOT IN (SELECT rid FROM records WHERE expires <= :now)
  AND NOT EXISTS (SELECT 1 FROM token_vectors t WHERE t.model = :model AND t.rid = r.rid)
  AND NOT EXISTS (SELECT 1 FROM token_failures f WHERE f.model = :name AND f.rid = r.rid)
ORDER BY r.doc LIMIT :limit;

-- name: texts_to_try_again
-- The texts whose token vectors failed and that are not parked, those tried least often first.
SELECT r.id, f.attempts, f.error, r.doc, r.schema, r.body, r.content
FROM token_failures f CROSS JOIN records r ON r.rid = f.rid
WHERE f.model = :name AND f.parked = 0 AND r.rid NOT IN (SELECT rid FROM records WHERE expires <= :now)
ORDER BY f.attempts, r.doc LIMIT :limit;

-- name: texts_without_tokens_among
-- Those of the records of some ids of whose texts a model has no token vectors, those tried least often first.
-- Those that have them, most of all, are passed over by the indexes alone.
WITH lacking AS MATERIALIZED (
  SELECT n.rid FROM json_each(:ids) i CROSS JOIN records n ON n.id = i.value
  WHERE NOT EXISTS (SELECT 1 FROM token_vectors t WHERE t.model = :model AND t.rid = n.rid)
)
SELECT r.id, coalesce(f.attempts, 0), coalesce(f.error, ''), r.doc, r.schema, r.body, r.content
FROM lacking CROSS JOIN records r ON r.rid = lacking.rid
LEFT JOIN token_failures f ON f.model = :name AND f.rid = r.rid
WHERE r.doc IS NOT NULL AND coalesce(f.parked, 0) = 0 AND r.rid NOT IN (SELECT rid FROM records WHERE expires <= :now)
ORDER BY coalesce(f.attempts, 0), r.doc LIMIT :limit;

-- name: count_texts_without_tokens
-- How many texts above a number have no token vectors of a model, and did not fail.
SELECT count(*) FROM records r INDEXED BY records_doc
WHERE r.doc > :upto AND r.rid NOT IN (SELECT rid FROM records WHERE expires <= :now)
  AND NOT EXISTS (SELECT 1 FROM token_vectors t WHERE t.model = :model AND t.rid = r.rid)
  AND NOT EXISTS (SELECT 1 FROM token_failures f WHERE f.model = :name AND f.rid = r.rid);

-- name: count_token_failures
-- How many texts of a model are to be tried again, and how many are parked.
SELECT count(*) FILTER (WHERE parked = 0), count(*) FILTER (WHERE parked = 1) FROM token_failures
WHERE model = :name AND rid NOT IN (SELECT rid FROM records WHERE expires <= :now);

-- name: count_token_vectors
-- How many texts have token vectors of a model.
SELECT count(*) FROM token_vectors WHERE model = :model;

-- name: put_token_vectors
-- Stores the token vectors of a text in place of those that it has of the model.
INSERT INTO token_vectors (rid, model, data) VALUES (:record_no, :model, :data)
ON CONFLICT (model, rid) DO UPDATE SET data = excluded.data;

-- name: advance_token_model
-- Moves up the number up to which a model is done: it reads only texts that it moves over, and the next.
UPDATE token_models SET upto = coalesce((
  SELECT r.doc - 1 FROM records r INDEXED BY records_doc
  WHERE r.doc > upto AND r.rid NOT IN (SELECT rid FROM records WHERE expires <= :now)
    AND NOT EXISTS (SELECT 1 FROM token_vectors t WHERE t.model = :model AND t.rid = r.rid)
    AND NOT EXISTS (SELECT 1 FROM token_failures f WHERE f.model = token_models.name AND f.rid = r.rid)
  ORDER BY r.doc LIMIT 1
), (SELECT doc FROM sequence)) WHERE model = :model;

-- name: delete_token_vectors
-- Deletes the token vectors of a record, of every model.
DELETE FROM token_vectors WHERE model IN (SELECT model FROM token_models) AND rid = :record_no RETURNING rid;

-- name: delete_token_failures
-- Forgets that token vectors of a record failed.
DELETE FROM token_failures WHERE rid = :record_no;

-- name: delete_token_failure
-- Forgets that the token vectors of one model failed for a record.
DELETE FROM token_failures WHERE model = :name AND rid = :record_no;

-- name: count_token_failure
-- Counts a failed attempt at the token vectors of a text, and parks it after the last that is allowed.
INSERT INTO token_failures (model, rid, attempts, error, parked)
SELECT :name, r.rid, 1, :error, 1 >= :most FROM records r WHERE r.id = :id AND r.doc IS NOT NULL
ON CONFLICT (model, rid) DO UPDATE
SET attempts = attempts + 1, error = excluded.error, parked = (attempts + 1 >= :most);

-- name: unpark_tokens
-- Puts every text that is parked for a model back in the queue.
UPDATE token_failures SET parked = 0, attempts = 0 WHERE model = :name AND parked = 1;

-- name: discard_damaged_token_vectors
-- Deletes the token vectors of a model that are no whole number of tokens: it looks at every one of them.
DELETE FROM token_vectors WHERE model = :model AND length(data) % :dims <> 0 RETURNING rid;

-- name: discard_damaged_token_vectors_among
-- Deletes those of the records of some ids.
DELETE FROM token_vectors WHERE model = :model AND length(data) % :dims <> 0
  AND rid IN (SELECT r.rid FROM json_each(:ids) i CROSS JOIN records r ON r.id = i.value) RETURNING rid;

-- name: put_back_texts
-- Moves back the number up to which a model is done: to before the first text of some records.
UPDATE token_models SET upto = min(upto, coalesce((
  SELECT min(r.doc) - 1 FROM json_each(:records) i CROSS JOIN records r ON r.rid = i.value
), upto)) WHERE model = :model;

-- name: token_vectors_without_text
-- Token vectors of records that are gone or have no text. Full scan.
SELECT t.rid FROM token_vectors t LEFT JOIN records r ON r.rid = t.rid WHERE r.doc IS NULL LIMIT :limit;

-- name: token_vectors_without_model
-- Token vectors of a model that is gone. Full scan.
SELECT t.rid FROM token_vectors t LEFT JOIN token_models m USING (model) WHERE m.dims IS NULL LIMIT :limit;

-- name: damaged_token_vectors
-- Token vectors that are no whole number of tokens, and how many bytes they have. Full scan.
SELECT r.id, m.name, length(t.data) FROM token_vectors t JOIN token_models m USING (model) JOIN records r ON r.rid = t.rid
WHERE length(t.data) % m.dims <> 0 LIMIT :limit;

-- name: token_failures_without_text
-- Texts whose token vectors failed and that are gone.
SELECT f.rid FROM token_failures f LEFT JOIN records r ON r.rid = f.rid WHERE r.doc IS NULL LIMIT :limit;

-- name: texts_passed_over
-- Texts that a model is said to be done with, though they have no token vectors: it looks at every one.
SELECT r.id, m.name FROM token_models m CROSS JOIN records r
WHERE r.doc <= m.upto AND r.expires IS NULL
  AND NOT EXISTS (SELECT 1 FROM token_vectors t WHERE t.model = m.model AND t.rid = r.rid)
  AND NOT EXISTS (SELECT 1 FROM token_failures f WHERE f.model = m.name AND f.rid = r.rid) LIMIT :limit;
