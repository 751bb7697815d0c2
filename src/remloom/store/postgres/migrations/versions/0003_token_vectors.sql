-- The models that made token vectors. Every text whose number is not above `upto` has them, failed, or has expired.
CREATE TABLE remloom.token_models (
    tenant_id text COLLATE "C" NOT NULL,
    model     integer NOT NULL,
    name      text COLLATE "C" NOT NULL,
    dims      integer NOT NULL,
    upto      bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, name)
);
-- The token vectors of a text: int8, token by token; empty when it has no tokens.
CREATE TABLE remloom.token_vectors (
    tenant_id text COLLATE "C" NOT NULL,
    id        text COLLATE "C" NOT NULL,
    model     integer NOT NULL,
    data      bytea NOT NULL,
    PRIMARY KEY (tenant_id, model, id)
) WITH (toast_tuple_target = 8160);
-- They do not get smaller by compression.
ALTER TABLE remloom.token_vectors ALTER COLUMN data SET STORAGE EXTERNAL;
-- Texts whose token vectors could not be made; a model that made none yet has no number.
CREATE TABLE remloom.token_failures (
    tenant_id text COLLATE "C" NOT NULL,
    name      text COLLATE "C" NOT NULL,
    id        text COLLATE "C" NOT NULL,
    attempts  integer NOT NULL,
    error     text NOT NULL,
    parked    boolean NOT NULL,
    PRIMARY KEY (tenant_id, name, id)
);
CREATE INDEX token_failures_id ON remloom.token_failures (tenant_id, id);

-- Planned for, and seen, as the tables of 0001 are.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['token_models', 'token_vectors', 'token_failures'] LOOP
        EXECUTE format('ALTER TABLE remloom.%I ALTER COLUMN tenant_id SET (n_distinct = 1)', name);
        EXECUTE format('INSERT INTO remloom.%I SELECT '''', n, n, n%s FROM generate_series(1, 9) n', name, CASE name
                       WHEN 'token_models' THEN ', n' WHEN 'token_vectors' THEN '::text::bytea' ELSE ', n, false' END);
        EXECUTE format('ANALYZE remloom.%I', name);
        EXECUTE format('DELETE FROM remloom.%I', name);
        EXECUTE format('ALTER TABLE remloom.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE remloom.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY own ON remloom.%I TO remloom_tenant'
                       ' USING (tenant_id = (SELECT current_setting(''remloom.tenant'', true)))', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON remloom.%I TO remloom_tenant', name);
    END LOOP;
END $$;
