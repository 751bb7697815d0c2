-- A text that was remembered says which source it is from. One from before has a uri of that source and of the hash of its text: where
-- that is the hash of a chunk, the chunk is the whole of such a text. What only looks like it has none.
DO $$
DECLARE
    tenant text;
BEGIN
    FOR tenant IN SELECT t.tenant_id FROM remloom.tenants t LOOP
        PERFORM set_config('role', 'remloom_tenant', true), set_config('remloom.tenant', tenant, true);
        UPDATE remloom.records SET body = body || jsonb_build_object('origin', left(uri, -17))
        WHERE tenant_id = tenant AND schema = 'resources' AND body ->> 'category' = 'note' AND starts IS NOT NULL
          AND right(uri, 17) = '/' || left(body ->> 'content_hash', 16) AND left(uri, -17) NOT IN ('', 'remembered');
        PERFORM set_config('role', 'none', true);
    END LOOP;
END $$;

-- What came from a source beside its chunks: texts that were remembered one by one, and what stands for the source as a whole.
CREATE INDEX records_origin ON remloom.records (tenant_id, md5(CASE schema
  WHEN 'resources' THEN body ->> 'origin'
  WHEN 'entities' THEN body #>> '{properties,uri}'
  WHEN 'moments' THEN body #>> '{metadata,uri}'
END))
WHERE (CASE schema
  WHEN 'resources' THEN body ->> 'origin'
  WHEN 'entities' THEN body #>> '{properties,uri}'
  WHEN 'moments' THEN body #>> '{metadata,uri}'
END) IS NOT NULL;

-- Making an index counted the rows of the table: where there are none it is analyzed anew, as when it was made.
SELECT set_config('role', 'remloom_tenant', true), set_config('remloom.tenant', '', true);
INSERT INTO remloom.records (tenant_id, id, seq, schema, type, thin, starts, ends, created, updated, doc, uri, body, expires)
SELECT '', n, n, n, n, false, n, n, n, n, n, n, '{}', CASE WHEN n = 1 THEN n END FROM generate_series(1, 9) n;
SELECT set_config('role', 'none', true);
ANALYZE remloom.records;
SELECT set_config('role', 'remloom_tenant', true);
DELETE FROM remloom.records WHERE tenant_id = '';
SELECT set_config('role', 'none', true);
