-- name: count_records
-- How many records there are of each schema and type, and how many of them are thin entities.
SELECT schema, coalesce(type, ''), count(*), count(*) FILTER (WHERE thin)
FROM remloom.records WHERE tenant_id = %(tenant)s GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2;

-- name: count_expired
-- How many records have expired.
SELECT count(*) FROM remloom.records WHERE tenant_id = %(tenant)s AND expires <= %(now)s;

-- name: count_edges_of_types
-- How many edges there are of each type, most first.
SELECT rel, edges FROM remloom.rels WHERE tenant_id = %(tenant)s ORDER BY 2 DESC, 1;

-- name: count_vectors
-- How many vectors a model has.
SELECT count(*) FROM remloom.vectors WHERE tenant_id = %(tenant)s AND model = %(model)s;

-- name: count_embedded_texts
-- How many texts have vectors of a model.
SELECT count(DISTINCT id) FROM remloom.vectors WHERE tenant_id = %(tenant)s AND model = %(model)s;

-- name: count_texts_to_embed
-- How many texts there are.
SELECT count(*) FROM remloom.records WHERE tenant_id = %(tenant)s AND doc IS NOT NULL;

-- name: count_unindexed_vectors
-- How many vectors of a model are compared one by one.
SELECT count(*) FROM remloom.vectors WHERE tenant_id = %(tenant)s AND model = %(model)s AND NOT indexed;

-- name: count_keys
-- How many keys records have.
SELECT count(*) FROM (SELECT DISTINCT key FROM remloom.names WHERE tenant_id = %(tenant)s) k;

-- name: count_entries_of_namespaces
-- How many key-value entries each namespace has.
SELECT kind, count(*) FROM remloom.journal WHERE tenant_id = %(tenant)s GROUP BY 1 ORDER BY 1;

-- name: record_size
-- How many bytes a record takes, by the mean of some.
SELECT coalesce(avg(pg_column_size(body) + coalesce(pg_column_size(content), 0) + 150), 0)
FROM (SELECT body, content FROM remloom.records WHERE tenant_id = %(tenant)s LIMIT %(sample)s) r;
