-- name: count_records
-- How many records there are of each schema and type. Full scan.
-- A tenth of a microsecond each: tallies kept by triggers would make every write a tenth slower.
SELECT schema, type, count(*) FROM records GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2;

-- name: count_thin
-- How many thin entities there are.
SELECT count(*) FROM records WHERE schema = 'entities' AND thin = 1;

-- name: count_keys
-- How many keys records have. Full scan.
SELECT count(*) FROM labels;

-- name: count_edges_of_types
-- How many edges there are of each type, most first.
SELECT name, edges FROM rels ORDER BY 2 DESC, 1;

-- name: count_expired
-- How many records have expired.
SELECT count(*) FROM records WHERE expires <= :now;

-- name: count_entries_of_namespaces
-- How many key-value entries each namespace has. Full scan.
SELECT kind, count(*) FROM journal GROUP BY 1 ORDER BY 1;

-- name: models
-- The embedders of a tenant.
SELECT model, name, dims, current FROM models;

-- name: count_vectors
-- How many vectors a model has: all, unless those of another are being made. Full scan.
SELECT CASE (SELECT count(*) FROM models) WHEN 1 THEN (SELECT count(*) FROM vectors)
  ELSE (SELECT count(*) FROM vectors WHERE model = :model) END;

-- name: count_embedded_texts
-- How many texts have vectors of a model. Full scan.
SELECT count(DISTINCT rid) FROM vectors WHERE model = :model;

-- name: count_texts_to_embed
-- How many texts there are.
SELECT count(*) FROM records WHERE doc IS NOT NULL;
