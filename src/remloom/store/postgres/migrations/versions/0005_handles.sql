-- A key that is the handle of a row means that row, whatever else is called so. `handle`: the key is the handle of its record,
-- of a row (see `Row.is_identified`), or of the entity that stands for one which a foreign key names. `kin` NULL: it is another record's, whose are its edges.
ALTER TABLE remloom.names ADD COLUMN handle boolean NOT NULL DEFAULT false;
ALTER TABLE remloom.names ALTER COLUMN kin DROP NOT NULL;
CREATE INDEX names_handle ON remloom.names (tenant_id, key) WHERE handle;

DO $$
DECLARE
    tenant text;
    made record;
    at bigint := (extract(epoch FROM now()) * 1000000)::bigint;
    shown text := to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
    new_id text;
BEGIN
    FOR tenant IN SELECT t.tenant_id FROM remloom.tenants t LOOP
        PERFORM set_config('role', 'remloom_tenant', true), set_config('remloom.tenant', tenant, true);
        -- As labels are compared: whatever their case, underscores, blanks.
        UPDATE remloom.names n SET handle = true FROM (
            SELECT r.id, regexp_replace(lower(trim(r.body ->> 'handle')), '[\s_-]+', '-', 'g') AS handle,
                   regexp_replace(lower(trim(r.body ->> 'name')), '[\s_-]+', '-', 'g') AS name,
                   regexp_replace(lower(trim(r.type)), '[\s_-]+', '-', 'g') AS type,
                   regexp_replace(lower(trim(r.schema)), '[\s_-]+', '-', 'g') AS schema
            FROM remloom.records r WHERE r.tenant_id = tenant AND r.schema NOT IN ('resources', 'entities', 'moments')
        ) r
        WHERE n.tenant_id = tenant AND n.rank = 0 AND r.id = n.id AND (
            r.handle <> r.name OR starts_with(r.handle, r.type || '-') OR starts_with(r.handle, r.schema || '-')
        );
        -- What foreign keys name and no row is.
        FOR made IN
            SELECT e.key, max(e.type) AS type FROM (
                SELECT dst AS key, properties ->> 'dst_entity_type' AS type FROM remloom.edges
                WHERE tenant_id = tenant AND properties ->> 'source_fk' IS NOT NULL
                UNION ALL
                SELECT src, NULL FROM remloom.edges WHERE tenant_id = tenant AND properties ->> 'source_fk' IS NOT NULL
            ) e
            WHERE NOT EXISTS (SELECT FROM remloom.names n WHERE n.tenant_id = tenant AND n.key = e.key AND n.handle)
            GROUP BY e.key
        LOOP
            UPDATE remloom.names n SET handle = true FROM remloom.records r
            WHERE n.tenant_id = tenant AND n.key = made.key AND (n.rank > 0 OR NOT n.kin)
              AND r.tenant_id = tenant AND r.id = n.id AND r.thin;
            IF NOT FOUND THEN  -- others are called so
                new_id := gen_random_uuid()::text;
                UPDATE remloom.tenants SET seq = seq + 1, names = names + 1 WHERE tenant_id = tenant;
                INSERT INTO remloom.records (tenant_id, id, seq, schema, type, thin, created, updated, body)
                SELECT tenant, new_id, t.seq, 'entities', nullif(made.type, ''), true, at, at, jsonb_build_object(
                    'schema', 'entities', 'id', new_id, 'type', coalesce(made.type, ''), 'name', w.key, 'thin', true,
                    'created_at', shown, 'updated_at', shown
                )
                FROM remloom.tenants t, (
                    SELECT coalesce(max(n.label), made.key) AS key FROM remloom.names n
                    WHERE n.tenant_id = tenant AND n.key = made.key
                ) w WHERE t.tenant_id = tenant;
                INSERT INTO remloom.names (tenant_id, key, id, rank, label, kin, number, handle)
                SELECT tenant, made.key, new_id, 0, (
                    SELECT max(n.label) FROM remloom.names n WHERE n.tenant_id = tenant AND n.key = made.key
                ), false, t.names, true FROM remloom.tenants t WHERE t.tenant_id = tenant;
            END IF;
        END LOOP;
        UPDATE remloom.names n SET kin = NULL
        WHERE n.tenant_id = tenant AND NOT n.handle AND EXISTS (
            SELECT FROM remloom.names h WHERE h.tenant_id = tenant AND h.key = n.key AND h.handle
        );
        PERFORM set_config('role', 'none', true);
    END LOOP;
END $$;

-- Making an index counted the rows of the table: where there are none it is analyzed anew, as when it was made.
SELECT set_config('role', 'remloom_tenant', true), set_config('remloom.tenant', '', true);
INSERT INTO remloom.names (tenant_id, key, id, rank, number, handle) SELECT '', n, n, n, n, n = 1 FROM generate_series(1, 9) n;
SELECT set_config('role', 'none', true);
ANALYZE remloom.names;
SELECT set_config('role', 'remloom_tenant', true);
DELETE FROM remloom.names WHERE tenant_id = '';
SELECT set_config('role', 'none', true);
