-- name: token_model
-- The number of a model of token vectors, its dimensions, and up to which text it is done.
SELECT model, dims, upto FROM remloom.token_models WHERE tenant_id = %(tenant)s AND name = %(name)s;

-- name: token_models
-- The models that made token vectors, in the order in which they came.
SELECT name, dims FROM remloom.token_models WHERE tenant_id = %(tenant)s ORDER BY model;

-- name: insert_token_model
-- Register a model of token vectors.
INSERT INTO remloom.token_models (tenant_id, model, name, dims)
SELECT %(tenant)s, coalesce(max(model), 0) + 1, %(name)s, %(dims)s FROM remloom.token_models WHERE tenant_id = %(tenant)s
RETURNING model;

-- name: token_vectors_of_records
-- The token vectors that a model made of records.
SELECT t.id, t.data FROM remloom.token_models m
CROSS JOIN LATERAL unnest(%(ids)b::text[]) i (id)
CROSS JOIN LATERAL (
  SELECT t.id, t.data FROM remloom.token_vectors t WHERE t.tenant_id = %(tenant)s AND t.model = m.model AND t.id = i.id OFFSET 0
) t
WHERE m.tenant_id = %(tenant)s AND m.name = %(name)s AND t.id <> ALL (ARRAY(
  SELECT r.id FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.expires <= %(now)s
));

-- name: texts_without_tokens
-- The texts above a number of which a model has no token vectors and none failed, oldest first.
SELECT r.id, 0, '', r.doc, r.schema, r.body, r.content FROM remloom.records r
WHERE r.tenant_id = %(tenant)s AND r.doc > %(upto)s AND (r.expires IS NULL OR r.expires > %(now)s)
  AND (SELECT 1 FROM remloom.token_vectors t WHERE t.tenant_id = %(tenant)s AND t.model = %(model)s AND t.id = r.id) IS NULL
  AND (SELECT 1 FROM remloom.token_failures f WHERE f.tenant_id = %(tenant)s AND f.name = %(name)s AND f.id = r.id) IS NULL
ORDER BY r.doc LIMIT %(limit)s;

-- name: texts_to_try_again
-- The texts whose token vectors failed and that are not parked, those tried least often first.
SELECT r.id, f.attempts, f.error, r.doc, r.schema, r.body, r.content
FROM remloom.token_failures f JOIN remloom.records r ON r.tenant_id = f.tenant_id AND r.id = f.id
WHERE f.tenant_id = %(tenant)s AND f.name = %(name)s AND NOT f.parked AND (r.expires IS NULL OR r.expires > %(now)s)
ORDER BY f.attempts, r.doc LIMIT %(limit)s;

-- name: texts_without_tokens_among
-- Those of some records of whose texts a model has no token vectors, those tried least often first.
SELECT r.id, coalesce(f.attempts, 0), coalesce(f.error, ''), r.doc, r.schema, r.body, r.content
FROM remloom.records r
LEFT JOIN remloom.token_failures f ON f.tenant_id = r.tenant_id AND f.name = %(name)s AND f.id = r.id
WHERE r.tenant_id = %(tenant)s AND r.id = ANY (%(ids)b::text[]) AND r.doc IS NOT NULL AND f.parked IS NOT TRUE
  AND (r.expires IS NULL OR r.expires > %(now)s)
  AND (SELECT 1 FROM remloom.token_vectors t WHERE t.tenant_id = %(tenant)s AND t.model = %(model)s AND t.id = r.id) IS NULL
ORDER BY 2, r.doc LIMIT %(limit)s;

-- name: count_texts_without_tokens
-- How many texts above a number have no token vectors of a model, and did not fail.
SELECT count(*) FROM remloom.records r
WHERE r.tenant_id = %(tenant)s AND r.doc > %(upto)s AND (r.expires IS NULL OR r.expires > %(now)s)
  AND (SELECT 1 FROM remloom.token_vectors t WHERE t.tenant_id = %(tenant)s AND t.model = %(model)s AND t.id = r.id) IS NULL
  AND (SELECT 1 FROM remloom.token_failures f WHERE f.tenant_id = %(tenant)s AND f.name = %(name)s AND f.id = r.id) IS NULL;

-- name: count_token_failures
-- How many texts of a model are to be tried again, and how many are parked.
SELECT count(*) FILTER (WHERE NOT parked), count(*) FILTER (WHERE parked)
FROM remloom.token_failures f JOIN remloom.records r ON r.tenant_id = f.tenant_id AND r.id = f.id
WHERE f.tenant_id = %(tenant)s AND f.name = %(name)s AND (r.expires IS NULL OR r.expires > %(now)s);

-- name: count_token_vectors
-- How many texts have token vectors of a model.
SELECT count(*) FROM remloom.token_vectors WHERE tenant_id = %(tenant)s AND model = %(model)s;

-- name: put_token_vectors
-- Store the token vectors of texts in place of those that they have of the model.
INSERT INTO remloom.token_vectors (tenant_id, id, model, data)
SELECT %(tenant)s, v.id, %(model)s, v.data FROM unnest(%(ids)b::text[], %(data)b::bytea[]) v (id, data)
ON CONFLICT (tenant_id, model, id) DO UPDATE SET data = excluded.data;

-- name: advance_token_model
-- Move up the number up to which a model is done: it reads only texts that it moves over, and the next.
UPDATE remloom.token_models m SET upto = coalesce((
  SELECT r.doc - 1 FROM remloom.records r
  WHERE r.tenant_id = %(tenant)s AND r.doc > m.upto AND (r.expires IS NULL OR r.expires > %(now)s)
    AND (SELECT 1 FROM remloom.token_vectors t WHERE t.tenant_id = %(tenant)s AND t.model = %(model)s AND t.id = r.id) IS NULL
    AND (SELECT 1 FROM remloom.token_failures f WHERE f.tenant_id = %(tenant)s AND f.name = m.name AND f.id = r.id) IS NULL
  ORDER BY r.doc LIMIT 1
), %(last)s) WHERE m.tenant_id = %(tenant)s AND m.model = %(model)s;

-- name: delete_token_vectors
-- Delete the token vectors of records, of every model.
DELETE FROM remloom.token_vectors
WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)b::text[])
  AND model = ANY (ARRAY(SELECT model FROM remloom.token_models WHERE tenant_id = %(tenant)s));

-- name: delete_token_failures
-- Forget that token vectors of records failed.
DELETE FROM remloom.token_failures WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)b::text[]);

-- name: delete_token_failures_of_model
-- Forget that token vectors of records failed for one model.
DELETE FROM remloom.token_failures WHERE tenant_id = %(tenant)s AND name = %(name)s AND id = ANY (%(ids)b::text[]);

-- name: count_token_failure
-- Count a failed attempt at the token vectors of a text, and park it if that were too many.
INSERT INTO remloom.token_failures (tenant_id, name, id, attempts, error, parked)
SELECT %(tenant)s, %(name)s, r.id, 1, %(error)s, 1 >= %(most)s
FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.id = %(id)s AND r.doc IS NOT NULL
ON CONFLICT (tenant_id, name, id) DO UPDATE SET
  attempts = token_failures.attempts + 1, error = excluded.error, parked = token_failures.attempts + 1 >= %(most)s;

-- name: unpark_tokens
-- Put every text that is parked for a model back into the queue.
UPDATE remloom.token_failures SET parked = false, attempts = 0 WHERE tenant_id = %(tenant)s AND name = %(name)s AND parked;

-- name: drop_token_vectors
-- Delete the token vectors of every model but one.
DELETE FROM remloom.token_vectors WHERE tenant_id = %(tenant)s
  AND model = ANY (ARRAY(SELECT model FROM remloom.token_models WHERE tenant_id = %(tenant)s AND name <> %(keep)s));

-- name: drop_token_failures
-- Forget what failed for every model but one.
DELETE FROM remloom.token_failures WHERE tenant_id = %(tenant)s AND name <> %(keep)s;

-- name: drop_token_models
-- Delete every model of token vectors but one.
DELETE FROM remloom.token_models WHERE tenant_id = %(tenant)s AND name <> %(keep)s;

-- name: discard_damaged_token_vectors
-- Delete the token vectors of a model that are no whole number of tokens: of some records, or of all.
DELETE FROM remloom.token_vectors t WHERE t.tenant_id = %(tenant)s AND t.model = %(model)s AND length(t.data) %% %(dims)s <> 0
  AND (%(every)s OR t.id = ANY (%(ids)b::text[]))
RETURNING t.id;

-- name: put_back_texts
-- Move back the number up to which a model is done: to before the first text of some records.
UPDATE remloom.token_models m SET upto = least(m.upto, (
  SELECT min(r.doc) - 1 FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.id = ANY (%(ids)b::text[])
)) WHERE m.tenant_id = %(tenant)s AND m.model = %(model)s;

-- name: token_vectors_without_text
-- Token vectors of records that are gone or have no text.
SELECT t.id FROM remloom.token_vectors t LEFT JOIN remloom.records r ON r.tenant_id = t.tenant_id AND r.id = t.id
WHERE t.tenant_id = %(tenant)s AND r.doc IS NULL LIMIT %(limit)s;

-- name: token_vectors_without_model
-- Token vectors of a model that is gone.
SELECT t.id FROM remloom.token_vectors t
LEFT JOIN remloom.token_models m ON m.tenant_id = t.tenant_id AND m.model = t.model
WHERE t.tenant_id = %(tenant)s AND m.dims IS NULL LIMIT %(limit)s;

-- name: damaged_token_vectors
-- Token vectors that are no whole number of tokens, and how many bytes they have.
SELECT t.id, m.name, length(t.data) FROM remloom.token_vectors t
JOIN remloom.token_models m ON m.tenant_id = t.tenant_id AND m.model = t.model
WHERE t.tenant_id = %(tenant)s AND length(t.data) %% m.dims <> 0 LIMIT %(limit)s;

-- name: token_failures_without_text
-- Texts whose token vectors failed and that are gone.
SELECT f.id FROM remloom.token_failures f LEFT JOIN remloom.records r ON r.tenant_id = f.tenant_id AND r.id = f.id
WHERE f.tenant_id = %(tenant)s AND r.doc IS NULL LIMIT %(limit)s;

-- name: texts_passed_over
-- Texts that a model is said to be done with, though they have no token vectors.
SELECT r.id, m.name FROM remloom.token_models m JOIN remloom.records r ON r.tenant_id = m.tenant_id AND r.doc <= m.upto
WHERE m.tenant_id = %(tenant)s AND r.expires IS NULL
  AND (SELECT 1 FROM remloom.token_vectors t WHERE t.tenant_id = %(tenant)s AND t.model = m.model AND t.id = r.id) IS NULL
  AND (SELECT 1 FROM remloom.token_failures f WHERE f.tenant_id = %(tenant)s AND f.name = m.name AND f.id = r.id) IS NULL
LIMIT %(limit)s;
