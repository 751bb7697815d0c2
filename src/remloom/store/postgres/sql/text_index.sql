-- name: text_runs
-- The runs of the index of texts, in the order of their numbers.
SELECT run, bits, size FROM remloom.runs WHERE tenant_id = %(tenant)s ORDER BY run;

-- name: insert_text_run
-- Store a run of the index of texts, but for its postings.
INSERT INTO remloom.runs VALUES (%(tenant)s, %(run)s, %(bits)s, %(size)s);

-- name: insert_postings
-- Store the postings of a run, bucket by bucket.
INSERT INTO remloom.postings
SELECT %(tenant)s, %(run)s, * FROM unnest(%(buckets)b::integer[], %(data)b::bytea[]);

-- name: delete_text_runs
-- Delete runs of the index of texts, but not their postings.
DELETE FROM remloom.runs WHERE tenant_id = %(tenant)s AND run = ANY (%(runs)b::bigint[]);

-- name: take_postings
-- Delete the postings of runs, and give them back.
DELETE FROM remloom.postings WHERE tenant_id = %(tenant)s AND run = ANY (%(runs)b::bigint[]) RETURNING run, data;

-- name: postings_of_terms
-- The postings of the buckets that have some terms, of every run.
SELECT t.term, r.run, p.data
FROM remloom.runs r CROSS JOIN unnest(%(terms)s::bigint[]) t (term)
CROSS JOIN LATERAL (
  SELECT p.data FROM remloom.postings p
  WHERE p.tenant_id = %(tenant)s AND p.run = r.run AND p.bucket = (t.term >> (40 - r.bits))::integer OFFSET 0
) p
WHERE r.tenant_id = %(tenant)s;

-- name: postings_of_rarest
-- The postings of the bucket, of those that have some terms, that has fewest of them, of every run; none where a term has none.
WITH rarest AS (
  SELECT t.term FROM remloom.runs r CROSS JOIN unnest(%(terms)s::bigint[]) t (term)
  LEFT JOIN LATERAL (
    SELECT octet_length(p.data) AS size FROM remloom.postings p
    WHERE p.tenant_id = %(tenant)s AND p.run = r.run AND p.bucket = (t.term >> (40 - r.bits))::integer OFFSET 0
  ) p ON true
  WHERE r.tenant_id = %(tenant)s GROUP BY t.term ORDER BY coalesce(sum(p.size), 0), t.term LIMIT 1
)
SELECT t.term, r.run, p.data
FROM remloom.runs r CROSS JOIN rarest t
CROSS JOIN LATERAL (
  SELECT p.data FROM remloom.postings p
  WHERE p.tenant_id = %(tenant)s AND p.run = r.run AND p.bucket = (t.term >> (40 - r.bits))::integer OFFSET 0
) p
WHERE r.tenant_id = %(tenant)s;

-- name: postings_of_buckets
-- The postings of some buckets.
SELECT p.run, p.bucket, p.data
FROM unnest(%(runs)b::bigint[], %(buckets)b::integer[]) k (run, bucket)
CROSS JOIN LATERAL (
  SELECT * FROM remloom.postings p
  WHERE p.tenant_id = %(tenant)s AND p.run = k.run AND p.bucket = k.bucket OFFSET 0
) p;

-- name: replace_postings
-- Replace the postings of some buckets; those that have none left are deleted.
WITH buckets AS (
  SELECT * FROM unnest(%(runs)b::bigint[], %(buckets)b::integer[], %(data)b::bytea[]) k (run, bucket, data)
), emptied AS (
  DELETE FROM remloom.postings p USING buckets k
  WHERE k.data = '' AND p.tenant_id = %(tenant)s AND p.run = k.run AND p.bucket = k.bucket
)
UPDATE remloom.postings p SET data = k.data FROM buckets k
WHERE k.data <> '' AND p.tenant_id = %(tenant)s AND p.run = k.run AND p.bucket = k.bucket;

-- name: all_postings
-- Every posting, with what its bucket is to be.
SELECT p.run, r.bits, p.bucket, p.data
FROM remloom.postings p JOIN remloom.runs r USING (tenant_id, run) WHERE p.tenant_id = %(tenant)s;

-- name: count_texts
-- How many texts are indexed, and how many terms they have together.
SELECT documents, terms FROM remloom.tenants WHERE tenant_id = %(tenant)s;

-- name: add_to_counts
-- Add to how many texts are indexed, and how many terms they have together.
UPDATE remloom.tenants SET documents = documents + %(texts)s, terms = terms + %(terms)s WHERE tenant_id = %(tenant)s;
