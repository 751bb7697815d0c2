-- When a record expires (microseconds since 1970 UTC), for the few that do: it is in `body` too.
ALTER TABLE remloom.records ADD COLUMN expires bigint;
CREATE INDEX records_expires ON remloom.records (tenant_id, expires) WHERE expires IS NOT NULL;

-- The views have the columns that the table had when they were made.
CREATE OR REPLACE VIEW remloom.own_records AS SELECT * FROM remloom.records
    WHERE tenant_id = (SELECT current_setting('remloom.tenant', true));
CREATE OR REPLACE VIEW remloom.read_records AS SELECT * FROM remloom.records WHERE tenant_id = (SELECT remloom.reading());

-- Making an index counted the rows of the table: where there are none it is analyzed anew, as when it was made.
SELECT set_config('role', 'remloom_tenant', true), set_config('remloom.tenant', '', true);
INSERT INTO remloom.records (tenant_id, id, seq, schema, type, thin, starts, ends, created, updated, doc, uri, body, expires)
SELECT '', n, n, n, n, false, n, n, n, n, n, n, '{}', CASE WHEN n = 1 THEN n END FROM generate_series(1, 9) n;
SELECT set_config('role', 'none', true);
ANALYZE remloom.records;
SELECT set_config('role', 'remloom_tenant', true);
DELETE FROM remloom.records WHERE tenant_id = '';
SELECT set_config('role', 'none', true);
