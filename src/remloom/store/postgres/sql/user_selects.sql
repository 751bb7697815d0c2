-- name: answer
-- The rows of a SELECT that a user wrote, as texts, as the role that may only read.
SELECT * FROM remloom.answer(%(sql)s, %(values)s, %(bytes)s);

-- name: explain
-- The plan of a SELECT that a user wrote.
SELECT * FROM remloom.explain(%(sql)s, %(values)s);

-- name: create_field_index
-- Make an index of a JSON value in the records of a schema.
CREATE INDEX IF NOT EXISTS {name} ON remloom.records (tenant_id, ({expression}) NULLS FIRST) WHERE schema = '{schema}';
