-- name: serving_model
-- The model whose vectors are searched; also sets how the HNSW index is searched in this transaction.
SELECT m.model, m.dims, m.indexed,
       set_config('hnsw.iterative_scan', 'strict_order', true),
       set_config('hnsw.ef_search', least(%(ef)s::integer, %(most)s)::text, true)
FROM remloom.models m WHERE m.tenant_id = %(tenant)s AND m.current;

-- name: set_candidates
-- Set how many candidates a search of the HNSW index keeps in this transaction.
SELECT set_config('hnsw.ef_search', %(ef)s::text, true);

-- name: nearest_indexed_at_once
-- The model that serves, and the windows nearest to a vector: from the HNSW index, and among those not in it yet.
-- The model is a row of its own, so the index is searched only after it was set how; where there is
-- nothing near the row still comes.
SELECT s.model, s.dims, s.indexed, n.*
FROM (
  SELECT m.model, m.dims, m.indexed, m.tenant_id AS tenant,
         set_config('hnsw.iterative_scan', 'strict_order', true),
         set_config('hnsw.ef_search', least(%(ef)s::integer, %(most)s)::text, true)
  FROM remloom.models m WHERE m.tenant_id = t.tenant AND m.current OFFSET 0
) s
LEFT JOIN LATERAL (
  SELECT n.*, r.schema, r.body, CASE WHEN row_number() OVER (PARTITION BY n.id) = 1 THEN r.content END
  FROM (
    SELECT * FROM (
      (
        SELECT v.id, v.first, v.last, v.data::halfvec({dims}) <=> %(query)b::halfvec({dims}) AS distance
        FROM remloom.own_vectors v
        WHERE v.tenant_id = s.tenant AND v.model = s.model AND v.schema = %(schema)s AND s.dims = %(dims)s
          AND v.indexed AND v.dims = {dims}
        ORDER BY v.data::halfvec({dims}) <=> %(query)b::halfvec({dims}) LIMIT {count}
      ) UNION ALL (
        SELECT v.id, v.first, v.last, v.data <=> %(query)b::halfvec AS distance
        FROM (
          SELECT * FROM remloom.own_vectors v
          WHERE v.tenant_id = s.tenant AND v.model = s.model AND v.schema = %(schema)s AND s.dims = %(dims)s
            AND NOT v.indexed OFFSET 0
        ) v
        ORDER BY 4 LIMIT {count}
      )
    ) n
    ORDER BY distance LIMIT {count}
  ) n
  JOIN remloom.records r ON r.tenant_id = s.tenant AND r.id = n.id
) n ON true
ORDER BY n.distance;

-- name: nearest_exact_at_once
-- The model that serves, and the windows nearest to a vector, where none is in the HNSW index.
SELECT s.model, s.dims, s.indexed, n.*
FROM (
  SELECT m.model, m.dims, m.indexed, m.tenant_id AS tenant FROM remloom.models m
  WHERE m.tenant_id = t.tenant AND m.current OFFSET 0
) s
LEFT JOIN LATERAL (
  SELECT n.*, r.schema, r.body, CASE WHEN row_number() OVER (PARTITION BY n.id) = 1 THEN r.content END
  FROM (
    SELECT v.id, v.first, v.last, v.data <=> %(query)b::halfvec AS distance
    FROM (
      SELECT * FROM remloom.own_vectors v
      WHERE v.tenant_id = s.tenant AND v.model = s.model AND v.schema = %(schema)s AND s.dims = %(dims)s
        AND NOT v.indexed OFFSET 0
    ) v
    ORDER BY 4 LIMIT {count}
  ) n
  JOIN remloom.records r ON r.tenant_id = s.tenant AND r.id = n.id
) n ON true
ORDER BY n.distance;

-- name: nearest_indexed
-- The windows nearest to a vector: from the HNSW index, and among those not in it yet.
SELECT n.*, r.schema, r.body, CASE WHEN row_number() OVER (PARTITION BY n.id) = 1 THEN r.content END
FROM (
  SELECT * FROM (
    (
      SELECT v.id, v.first, v.last, v.data::halfvec({dims}) <=> %(query)b::halfvec({dims}) AS distance
      FROM remloom.own_vectors v
      WHERE v.tenant_id = %(tenant)s AND v.model = %(model)s AND v.schema = %(schema)s
        AND v.indexed AND v.dims = {dims}
      ORDER BY v.data::halfvec({dims}) <=> %(query)b::halfvec({dims}) LIMIT {count}
    ) UNION ALL (
      SELECT v.id, v.first, v.last, v.data <=> %(query)b::halfvec AS distance
      FROM (
        SELECT * FROM remloom.own_vectors v
        WHERE v.tenant_id = %(tenant)s AND v.model = %(model)s AND v.schema = %(schema)s AND NOT v.indexed OFFSET 0
      ) v
      ORDER BY 4 LIMIT {count}
    )
  ) n
  ORDER BY distance LIMIT {count}
) n
JOIN remloom.records r ON r.tenant_id = %(tenant)s AND r.id = n.id
ORDER BY n.distance;

-- name: nearest_indexed_filtered
-- The windows nearest to a vector whose records meet a condition: from the HNSW index, and among those not in it yet.
SELECT n.*, r.schema, r.body, CASE WHEN row_number() OVER (PARTITION BY n.id) = 1 THEN r.content END
FROM (
  SELECT * FROM (
    (
      SELECT v.id, v.first, v.last, v.data::halfvec({dims}) <=> %(query)b::halfvec({dims}) AS distance
      FROM remloom.own_vectors v JOIN remloom.own_records r ON r.tenant_id = v.tenant_id AND r.id = v.id
      WHERE v.tenant_id = %(tenant)s AND v.model = %(model)s AND v.schema = %(schema)s
        AND v.indexed AND v.dims = {dims}{condition}
      ORDER BY v.data::halfvec({dims}) <=> %(query)b::halfvec({dims}) LIMIT {count}
    ) UNION ALL (
      SELECT v.id, v.first, v.last, v.data <=> %(query)b::halfvec AS distance
      FROM (
        SELECT * FROM remloom.own_vectors v
        WHERE v.tenant_id = %(tenant)s AND v.model = %(model)s AND v.schema = %(schema)s AND NOT v.indexed OFFSET 0
      ) v
      CROSS JOIN LATERAL (
        SELECT FROM remloom.own_records r WHERE r.tenant_id = v.tenant_id AND r.id = v.id{condition} OFFSET 0
      ) r
      ORDER BY 4 LIMIT {count}
    )
  ) n
  ORDER BY distance LIMIT {count}
) n
JOIN remloom.records r ON r.tenant_id = %(tenant)s AND r.id = n.id
ORDER BY n.distance;

-- name: nearest_exact
-- The windows nearest to a vector, compared one by one, where none is in the HNSW index.
SELECT n.*, r.schema, r.body, CASE WHEN row_number() OVER (PARTITION BY n.id) = 1 THEN r.content END
FROM (
  SELECT v.id, v.first, v.last, v.data <=> %(query)b::halfvec AS distance
  FROM (
    SELECT * FROM remloom.own_vectors v
    WHERE v.tenant_id = %(tenant)s AND v.model = %(model)s AND v.schema = %(schema)s AND NOT v.indexed OFFSET 0
  ) v
  ORDER BY 4 LIMIT {count}
) n
JOIN remloom.records r ON r.tenant_id = %(tenant)s AND r.id = n.id
ORDER BY n.distance;

-- name: nearest_of_all
-- The windows nearest to a vector, all compared one by one.
SELECT n.*, r.schema, r.body, CASE WHEN row_number() OVER (PARTITION BY n.id) = 1 THEN r.content END
FROM (
  SELECT v.id, v.first, v.last, v.data <=> %(query)b::halfvec AS distance
  FROM (
    SELECT * FROM remloom.own_vectors v
    WHERE v.tenant_id = %(tenant)s AND v.model = %(model)s AND v.schema = %(schema)s OFFSET 0
  ) v
  ORDER BY 4 LIMIT {count}
) n
JOIN remloom.records r ON r.tenant_id = %(tenant)s AND r.id = n.id
ORDER BY n.distance;

-- name: nearest_exact_filtered
-- The windows nearest to a vector whose records meet a condition, compared one by one, where none is in the HNSW index.
SELECT n.*, r.schema, r.body, CASE WHEN row_number() OVER (PARTITION BY n.id) = 1 THEN r.content END
FROM (
  SELECT v.id, v.first, v.last, v.data <=> %(query)b::halfvec AS distance
  FROM (
    SELECT * FROM remloom.own_vectors v
    WHERE v.tenant_id = %(tenant)s AND v.model = %(model)s AND v.schema = %(schema)s AND NOT v.indexed OFFSET 0
  ) v
  CROSS JOIN LATERAL (
    SELECT FROM remloom.own_records r WHERE r.tenant_id = v.tenant_id AND r.id = v.id{condition} OFFSET 0
  ) r
  ORDER BY 4 LIMIT {count}
) n
JOIN remloom.records r ON r.tenant_id = %(tenant)s AND r.id = n.id
ORDER BY n.distance;

-- name: nearest_among_few
-- How many records meet a condition, counted up to a bound, and the windows of theirs nearest to a vector, if so few do.
WITH kept AS MATERIALIZED (
  SELECT r.id FROM remloom.own_records r
  WHERE r.tenant_id = %(tenant)s AND r.schema = %(schema)s{condition} LIMIT {few} + 1
), number AS MATERIALIZED (
  SELECT count(*) AS kept FROM kept
), n AS MATERIALIZED (
  SELECT v.id, v.first, v.last, v.data <=> %(query)b::halfvec AS distance
  FROM kept CROSS JOIN LATERAL (
    SELECT v.* FROM remloom.vectors v
    WHERE v.tenant_id = %(tenant)s AND v.id = kept.id AND v.model = %(model)s OFFSET 0
  ) v
  WHERE (SELECT kept FROM number) <= {few}
  ORDER BY 4 LIMIT {count}
)
SELECT number.kept, n.*, r.schema, r.body, CASE WHEN row_number() OVER (PARTITION BY n.id) = 1 THEN r.content END
FROM number LEFT JOIN n ON true LEFT JOIN remloom.records r ON r.tenant_id = %(tenant)s AND r.id = n.id
ORDER BY n.distance;

-- name: nearest_among_all
-- The windows nearest to a vector of all records that meet a condition.
WITH kept AS MATERIALIZED (
  SELECT r.id FROM remloom.own_records r
  WHERE r.tenant_id = %(tenant)s AND r.schema = %(schema)s{condition}
), n AS MATERIALIZED (
  SELECT v.id, v.first, v.last, v.data <=> %(query)b::halfvec AS distance
  FROM kept CROSS JOIN LATERAL (
    SELECT v.* FROM remloom.vectors v
    WHERE v.tenant_id = %(tenant)s AND v.id = kept.id AND v.model = %(model)s OFFSET 0
  ) v
  ORDER BY 4 LIMIT {count}
)
SELECT n.*, r.schema, r.body, CASE WHEN row_number() OVER (PARTITION BY n.id) = 1 THEN r.content END
FROM n JOIN remloom.records r ON r.tenant_id = %(tenant)s AND r.id = n.id
ORDER BY n.distance;

-- name: index_some_vectors
-- Put some vectors of a model into the HNSW index.
UPDATE remloom.vectors v SET indexed = true
WHERE v.tenant_id = %(tenant)s AND v.ctid = ANY (ARRAY(
  SELECT t.ctid FROM remloom.vectors t
  WHERE t.tenant_id = %(tenant)s AND t.model = %(model)s AND NOT t.indexed LIMIT %(limit)s
));

-- name: mark_indexed
-- Remember that some vectors of a model are in the HNSW index.
UPDATE remloom.models SET indexed = true WHERE tenant_id = %(tenant)s AND model = %(model)s;

-- name: has_no_relation
-- Whether there is no table or index of a name.
SELECT to_regclass(%(name)s) IS NULL;

-- name: create_hnsw_index
-- Build the HNSW index of the vectors of some dimensions.
CREATE INDEX IF NOT EXISTS {name} ON remloom.vectors USING hnsw ((data::halfvec({dims})) halfvec_cosine_ops)
WITH (m = {m}, ef_construction = {ef_construction}) WHERE dims = {dims} AND indexed;
