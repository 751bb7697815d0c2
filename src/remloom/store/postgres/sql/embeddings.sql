-- name: insert_vectors
-- Store the windows of records, as far as the records are there.
INSERT INTO remloom.vectors (tenant_id, id, model, part, schema, dims, first, last, digest, data)
SELECT %(tenant)s, r.id, %(model)s, v.part, r.schema, %(dims)s, v.first, v.last, v.digest, v.data
FROM unnest(
  %(id)b::text[], %(part)b::integer[], %(first)b::integer[], %(last)b::integer[], %(digest)b::bytea[], %(data)b::halfvec[]
) v (id, part, first, last, digest, data)
CROSS JOIN LATERAL (
  SELECT r.id, r.schema FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.id = v.id OFFSET 0
) r;

-- name: embedded_ids
-- Of some records, those that have vectors.
SELECT id FROM remloom.vectors WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)b::text[]);

-- name: delete_vectors
-- Delete the vectors of records, of every model.
DELETE FROM remloom.vectors WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)b::text[]);

-- name: delete_vectors_of_model
-- Delete the vectors that a model made of records.
DELETE FROM remloom.vectors
WHERE tenant_id = %(tenant)s AND model = %(model)s AND id = ANY (%(ids)b::text[]);

-- name: vectors_of_records
-- The vectors of records that the current model made, window by window.
SELECT v.id, v.first, v.last, halfvec_send(v.data), v.digest
FROM remloom.vectors v JOIN remloom.models m USING (tenant_id, model)
WHERE v.tenant_id = %(tenant)s AND v.id = ANY (%(ids)b::text[]) AND m.current ORDER BY v.part;

-- name: vectors_by_digest
-- The vectors that a model made of texts, by the digest of each text.
SELECT DISTINCT ON (v.digest) v.digest, halfvec_send(v.data)
FROM remloom.vectors v JOIN remloom.models m USING (tenant_id, model)
WHERE v.tenant_id = %(tenant)s AND v.digest = ANY (%(digests)s) AND m.name = %(model)s;

-- name: enqueue
-- Put the texts of records into the queue, as if never tried.
INSERT INTO remloom.pending SELECT %(tenant)s, * FROM unnest(%(id)b::text[], %(seq)b::bigint[])
ON CONFLICT (tenant_id, id) DO UPDATE SET attempts = 0, error = NULL, parked = false;

-- name: enqueue_unembedded
-- Put every text without a vector into the queue.
INSERT INTO remloom.pending
SELECT r.tenant_id, r.id, r.seq FROM remloom.records r
WHERE r.tenant_id = %(tenant)s AND r.doc IS NOT NULL
  AND NOT EXISTS (SELECT FROM remloom.vectors v WHERE v.tenant_id = r.tenant_id AND v.id = r.id)
ON CONFLICT (tenant_id, id) DO NOTHING;

-- name: dequeue
-- Take the texts of records off the queue.
DELETE FROM remloom.pending WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)b::text[]);

-- name: next_pending
-- The next texts of the queue, least tried first, then in the order of writing.
SELECT p.id, p.attempts, p.error, r.doc, r.schema, r.body, r.content
FROM remloom.pending p JOIN remloom.records r ON r.tenant_id = p.tenant_id AND r.id = p.id
WHERE p.tenant_id = %(tenant)s AND NOT p.parked AND (r.expires IS NULL OR r.expires > %(now)s)
ORDER BY p.attempts, p.seq LIMIT %(limit)s;

-- name: pending_among
-- The texts of the queue that are those of some records.
SELECT p.id, p.attempts, p.error, r.doc, r.schema, r.body, r.content
FROM remloom.pending p JOIN remloom.records r ON r.tenant_id = p.tenant_id AND r.id = p.id
WHERE p.tenant_id = %(tenant)s AND p.id = ANY (%(ids)b::text[]) AND NOT p.parked
  AND (r.expires IS NULL OR r.expires > %(now)s)
ORDER BY p.attempts, p.seq LIMIT %(limit)s;

-- name: count_pending
-- How many texts wait for their vectors, and how many are parked.
SELECT count(*) FILTER (WHERE NOT parked), count(*) FILTER (WHERE parked)
FROM remloom.pending WHERE tenant_id = %(tenant)s;

-- name: unembedded_by_model
-- The texts behind a number of which a model made no vectors, by their number.
SELECT r.id, 0, '', r.doc, r.schema, r.body, r.content FROM remloom.records r
WHERE r.tenant_id = %(tenant)s AND r.doc > %(after)s AND (r.expires IS NULL OR r.expires > %(now)s) AND NOT EXISTS (
  SELECT FROM remloom.vectors v JOIN remloom.models m USING (tenant_id, model)
  WHERE v.tenant_id = r.tenant_id AND v.id = r.id AND m.name = %(model)s
)
ORDER BY r.doc LIMIT %(limit)s;

-- name: count_failure
-- Count a failed attempt at a text, and park it if that were too many.
UPDATE remloom.pending SET attempts = attempts + 1, error = %(error)s, parked = attempts + 1 >= %(most)s
WHERE tenant_id = %(tenant)s AND id = %(id)s;

-- name: unpark
-- Put every parked text back into the queue.
UPDATE remloom.pending SET parked = false, attempts = 0 WHERE tenant_id = %(tenant)s AND parked;

-- name: models
-- The embedders of a tenant.
SELECT model, name, dims, current FROM remloom.models WHERE tenant_id = %(tenant)s;

-- name: current_model
-- The embedder whose vectors are searched.
SELECT model, name, dims FROM remloom.models WHERE tenant_id = %(tenant)s AND current;

-- name: last_model_named
-- The latest embedder of a name.
SELECT model FROM remloom.models WHERE tenant_id = %(tenant)s AND name = %(name)s ORDER BY model DESC LIMIT 1;

-- name: insert_model
-- Register an embedder.
INSERT INTO remloom.models VALUES (%(tenant)s, %(model)s, %(name)s, %(dims)s, %(current)s);

-- name: delete_vectors_of_others
-- Delete the vectors of every model but one.
DELETE FROM remloom.vectors WHERE tenant_id = %(tenant)s AND model <> %(model)s;

-- name: delete_other_models
-- Delete every model but one.
DELETE FROM remloom.models WHERE tenant_id = %(tenant)s AND model <> %(model)s;

-- name: make_current
-- Let the one model there is serve.
UPDATE remloom.models SET current = true WHERE tenant_id = %(tenant)s;

-- name: empty_queue
-- Take every text off the queue.
DELETE FROM remloom.pending WHERE tenant_id = %(tenant)s;
