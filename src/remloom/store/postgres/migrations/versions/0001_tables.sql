-- Every tenant in one set of tables; `tenant_id` leads every primary key, so that Citus can distribute by it.
-- Times are microseconds since 1970 UTC. A key of more than 1,000 bytes stands shortened (see keys.short) in `key`, `src` and
-- `dst`, and whole in `names.label`.

-- Three roles that own no table and cannot log in. Every statement about a tenant runs as the first, but for the SELECTs that
-- users write: those run as the third, which may only read, and whose tenant nothing that it can call could change.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['remloom_tenant', 'remloom_views', 'remloom_reader'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS', name);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN  -- another database of this server was faster
            END;
        END IF;
        IF NOT pg_has_role(current_user, name, 'MEMBER') OR NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
            EXECUTE format('GRANT %I TO CURRENT_USER', name);
        END IF;
    END LOOP;
END $$;

GRANT USAGE ON SCHEMA remloom TO remloom_tenant;
GRANT USAGE, CREATE ON SCHEMA remloom TO remloom_views, remloom_reader;

-- A tenant, what its texts add up to (for BM25), and its highest numbers. Its row is locked by whoever writes: one writer
-- a tenant at a time, as many tenants at once as there are connections.
CREATE TABLE remloom.tenants (
    tenant_id  text COLLATE "C" PRIMARY KEY,
    made       timestamptz NOT NULL DEFAULT now(),
    seq        bigint NOT NULL DEFAULT 0,
    doc        bigint NOT NULL DEFAULT 0,
    documents  bigint NOT NULL DEFAULT 0,
    terms      bigint NOT NULL DEFAULT 0,
    names      bigint NOT NULL DEFAULT 0,
    sealed     bigint NOT NULL DEFAULT 0,
    unnamed    bigint NOT NULL DEFAULT 0 -- names gone since the runs were begun
);

-- A record of any schema; `body` is its JSON without `content`. `seq` is the order of writing; `doc` numbers its text and
-- changes with it.
CREATE TABLE remloom.records (
    tenant_id text COLLATE "C" NOT NULL,
    id        text COLLATE "C" NOT NULL,
    seq       bigint NOT NULL,
    schema    text COLLATE "C" NOT NULL,
    type      text COLLATE "C",
    thin      boolean NOT NULL,
    starts    bigint,
    ends      bigint,
    created   bigint NOT NULL,
    updated   bigint NOT NULL,
    doc       bigint,
    uri       text COLLATE "C",
    body      jsonb NOT NULL,
    content   text,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX records_seq ON remloom.records (tenant_id, schema, seq);
CREATE INDEX records_doc ON remloom.records (tenant_id, doc) WHERE doc IS NOT NULL;
CREATE INDEX records_type ON remloom.records (tenant_id, schema, type) INCLUDE (thin);
-- Where a source is gone on with: its chunks in order, and the turns of a chat by the ids that its messages had.
CREATE INDEX records_uri ON remloom.records (tenant_id, md5(uri), coalesce((body ->> 'ordinal')::bigint, 0)) WHERE uri IS NOT NULL;
CREATE INDEX records_message ON remloom.records (tenant_id, md5(uri || chr(10) || (body #>> '{metadata,message_ids,0}')))
    WHERE body #>> '{metadata,message_ids,0}' IS NOT NULL;
CREATE INDEX records_starts ON remloom.records (tenant_id, schema, starts) WHERE starts IS NOT NULL;
CREATE INDEX records_created ON remloom.records (tenant_id, schema, created);
CREATE INDEX records_kind ON remloom.records (tenant_id, ((body ->> 'kind') COLLATE "C")) WHERE body ->> 'kind' IS NOT NULL;
-- Moments of more than 31 days, apart, so that a window need not look back further than that for the others.
CREATE INDEX records_long ON remloom.records (tenant_id, ends, starts) WHERE ends - starts > 2678400000000;

-- Who writes or deletes a record does so with its names, vectors and place in the queue, and holds the tenant's lock: foreign
-- keys would look each of them up in `records` again, half the time of a write. (`check` sees what would be wrong.)

-- Every key by which something can be looked up. rank 0: the key of its name; 1…: of its aliases.
CREATE TABLE remloom.names (
    tenant_id text COLLATE "C" NOT NULL,
    key       text COLLATE "C" NOT NULL,
    id        text COLLATE "C" NOT NULL,
    rank      integer NOT NULL,
    label     text COLLATE "C",
    kin       boolean NOT NULL DEFAULT false, -- its record has other keys too; few have, and only those are looked for
    number    bigint NOT NULL,
    PRIMARY KEY (tenant_id, key, id)
);
CREATE UNIQUE INDEX names_number ON remloom.names (tenant_id, number);
CREATE INDEX names_id ON remloom.names (tenant_id, id);
CREATE INDEX names_kin ON remloom.names (tenant_id, key, id) WHERE kin;
CREATE INDEX names_kin_id ON remloom.names (tenant_id, id, key) WHERE kin;
-- Names are numbered as they are written; those up to `tenants.sealed` are indexed in runs, a tenant's apart from all others'.
-- A posting of a run is 8 bytes, and a page of them is known by its first (see names.py).
CREATE TABLE remloom.name_runs (
    tenant_id text COLLATE "C" NOT NULL,
    run       bigint NOT NULL, -- the number of its last name, and new: no dead rows of another run stand between its pages
    names     bigint NOT NULL, -- how many it had when it was written
    size      bigint NOT NULL, -- postings
    PRIMARY KEY (tenant_id, run)
);
CREATE TABLE remloom.name_pages (
    tenant_id text COLLATE "C" NOT NULL,
    run       bigint NOT NULL,
    first     bigint NOT NULL,
    data      bytea NOT NULL,
    PRIMARY KEY (tenant_id, run, first)
) WITH (toast_tuple_target = 8160);
ALTER TABLE remloom.name_pages ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE remloom.rels (
    tenant_id text COLLATE "C" NOT NULL,
    rel       text COLLATE "C" NOT NULL,
    edges     bigint NOT NULL, -- that have it: a type that none has is gone
    PRIMARY KEY (tenant_id, rel)
);
CREATE TABLE remloom.edges (
    tenant_id  text COLLATE "C" NOT NULL,
    src        text COLLATE "C" NOT NULL,
    rel        text COLLATE "C" NOT NULL,
    dst        text COLLATE "C" NOT NULL,
    weight     double precision NOT NULL,
    created    bigint NOT NULL,
    valid_from bigint,
    valid_to   bigint,
    properties jsonb,
    PRIMARY KEY (tenant_id, src, rel, dst)
);
-- In the order in which edges are followed, with all that a walk reads, so that it need not visit the table.
CREATE INDEX edges_out ON remloom.edges (tenant_id, src, created DESC, dst, rel) INCLUDE (valid_from, valid_to);
CREATE INDEX edges_in ON remloom.edges (tenant_id, dst, created DESC, src, rel) INCLUDE (valid_from, valid_to);
CREATE INDEX edges_dated_out ON remloom.edges (tenant_id, src) WHERE valid_from IS NOT NULL OR valid_to IS NOT NULL;
CREATE INDEX edges_dated_in ON remloom.edges (tenant_id, dst) WHERE valid_from IS NOT NULL OR valid_to IS NOT NULL;
-- How many edges of a type leave (side 0) or enter (1) a key, in force or not: counting a hub's takes longer than a walk.
CREATE TABLE remloom.degrees (
    tenant_id text COLLATE "C" NOT NULL,
    key       text COLLATE "C" NOT NULL,
    side      integer NOT NULL,
    rel       text COLLATE "C" NOT NULL,
    edges     bigint NOT NULL,
    PRIMARY KEY (tenant_id, key, side, rel)
) WITH (fillfactor = 80);

CREATE TABLE remloom.models (
    tenant_id text COLLATE "C" NOT NULL,
    model     integer NOT NULL,
    name      text NOT NULL,
    dims      integer NOT NULL,
    current   boolean NOT NULL,
    indexed   boolean NOT NULL DEFAULT false, -- some of its vectors are in an HNSW index
    PRIMARY KEY (tenant_id, model)
);
-- One embedded window of a record, of unit length. `digest` is the start of the sha256 of the embedded text. Those that are
-- `indexed` are in the HNSW index of their dimension; the others, few of each tenant, are compared one by one.
CREATE TABLE remloom.vectors (
    tenant_id text COLLATE "C" NOT NULL,
    id        text COLLATE "C" NOT NULL,
    model     integer NOT NULL,
    part      integer NOT NULL,
    schema    text COLLATE "C" NOT NULL,
    dims      integer NOT NULL,
    first     integer NOT NULL,
    last      integer NOT NULL,
    digest    bytea,
    indexed   boolean NOT NULL DEFAULT false,
    data      halfvec NOT NULL,
    PRIMARY KEY (tenant_id, id, model, part)
);
ALTER TABLE remloom.vectors ALTER COLUMN data SET STORAGE PLAIN;
CREATE INDEX vectors_tail ON remloom.vectors (tenant_id, model, schema) WHERE NOT indexed;
CREATE INDEX vectors_digest ON remloom.vectors (tenant_id, digest) WHERE digest IS NOT NULL;

CREATE TABLE remloom.pending (
    tenant_id text COLLATE "C" NOT NULL,
    id        text COLLATE "C" NOT NULL,
    seq       bigint NOT NULL,
    attempts  integer NOT NULL DEFAULT 0,
    error     text,
    parked    boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX pending_next ON remloom.pending (tenant_id, attempts, seq) WHERE NOT parked;

-- Provenance. kind 0: the child was derived from the parent; 1: the child (a moment) refers to it.
CREATE TABLE remloom.parents (
    tenant_id text COLLATE "C" NOT NULL,
    child     text COLLATE "C" NOT NULL,
    parent    text COLLATE "C" NOT NULL,
    kind      integer NOT NULL,
    PRIMARY KEY (tenant_id, child, parent),
    FOREIGN KEY (tenant_id, child) REFERENCES remloom.records ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, parent) REFERENCES remloom.records ON DELETE CASCADE
);
CREATE INDEX parents_parent ON remloom.parents (tenant_id, parent);

-- The inverted index of texts. What one write indexes is a run: its postings by term, in 2^bits rows of some hundred each,
-- 16 bytes a posting (see bm25_index.py). Small runs are merged as they become many.
CREATE TABLE remloom.runs (
    tenant_id text COLLATE "C" NOT NULL,
    run       bigint NOT NULL, -- no document in it has a lower number, none in those before it as high a one
    bits      integer NOT NULL,
    size      bigint NOT NULL, -- postings when it was written
    PRIMARY KEY (tenant_id, run)
);
CREATE TABLE remloom.postings (
    tenant_id text COLLATE "C" NOT NULL,
    run       bigint NOT NULL,
    bucket    integer NOT NULL, -- the first `bits` of the 40 of each term in it
    data      bytea NOT NULL,
    PRIMARY KEY (tenant_id, run, bucket)
) WITH (toast_tuple_target = 8160);
ALTER TABLE remloom.postings ALTER COLUMN data SET STORAGE EXTERNAL;

-- What is kept beside the records: see `remloom.kv`. The table of subjects finds the entries that go with a record.
CREATE TABLE remloom.journal (
    tenant_id text COLLATE "C" NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    id        text COLLATE "C" NOT NULL,
    version   bigint NOT NULL,
    subjects  text[] COLLATE "C" NOT NULL,
    data      bytea NOT NULL,
    PRIMARY KEY (tenant_id, kind, id)
);
CREATE TABLE remloom.journal_subjects (
    tenant_id text COLLATE "C" NOT NULL,
    subject   text COLLATE "C" NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    id        text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, kind, id, subject),
    FOREIGN KEY (tenant_id, kind, id) REFERENCES remloom.journal ON DELETE CASCADE
);
CREATE INDEX journal_subjects_subject ON remloom.journal_subjects (tenant_id, subject);

-- A tenant is planned for as if it were all there is: a probe a key, never a range of the tenant's keys. Of a table that was never
-- analyzed nothing is known, not even that. So each is analyzed now, with rows that are gone afterwards.
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'remloom'::regnamespace AND c.relkind = 'r'
                AND c.relname <> 'alembic_version' LOOP
        EXECUTE format('ALTER TABLE remloom.%I ALTER COLUMN tenant_id SET (n_distinct = 1)', name);
    END LOOP;
END $$;
INSERT INTO remloom.records (tenant_id, id, seq, schema, type, thin, starts, ends, created, updated, doc, uri, body)
SELECT '', n, n, n, n, false, n, n, n, n, n, n, '{}' FROM generate_series(1, 9) n;
INSERT INTO remloom.names (tenant_id, key, id, rank, number) SELECT '', n, n, n, n FROM generate_series(1, 9) n;
INSERT INTO remloom.edges (tenant_id, src, rel, dst, weight, created) SELECT '', n, n, n, n, n FROM generate_series(1, 9) n;
INSERT INTO remloom.degrees SELECT '', n, n, n, n FROM generate_series(1, 9) n;
INSERT INTO remloom.models SELECT '', n, n, n, false FROM generate_series(1, 9) n;
INSERT INTO remloom.vectors (tenant_id, id, model, part, schema, dims, first, last, data)
SELECT '', n, n, n, n, n, n, n, '[1]' FROM generate_series(1, 9) n;
INSERT INTO remloom.parents SELECT '', n, n, n FROM generate_series(1, 9) n;
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['parents', 'records', 'names', 'edges', 'degrees', 'models', 'vectors'] LOOP
        EXECUTE format('ANALYZE remloom.%I', name);
        EXECUTE format('DELETE FROM remloom.%I', name);
    END LOOP;
END $$;

-- What a JSON value is indexed and ordered as: numbers before texts, each in its order; long texts by their beginning, lists
-- and objects not at all. A number is the hexadecimal form of its bits, turned so that it sorts as the number does.
CREATE FUNCTION remloom.number_key(value double precision) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE WHEN value < 0 THEN translate(encode(float8send(value), 'hex'), '0123456789abcdef', 'fedcba9876543210')
                ELSE translate(left(encode(float8send(value + 0), 'hex'), 1), '01234567', '89abcdef')
                     || substr(encode(float8send(value + 0), 'hex'), 2) END
$$;
CREATE FUNCTION remloom.sortable(value jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE jsonb_typeof(value) WHEN 'string' THEN '2' || left(value #>> '{}', 200)
                                    WHEN 'number' THEN '1' || remloom.number_key((value #>> '{}')::double precision)
                                    WHEN 'boolean' THEN '1' || remloom.number_key(CASE value WHEN 'true' THEN 1 ELSE 0 END) END
$$;

-- What SELECTs call: the same as the functions of these names in the embedded store. Times are microseconds since 1970; those
-- before the year 1 and after 9999 are NULL.
CREATE FUNCTION remloom.moment(at bigint) RETURNS timestamp LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE WHEN at BETWEEN -62135596800000000 AND 253402300799999999
                THEN timestamp '1970-01-01' + (at / 86400000000) * interval '1 day' + (at % 86400000000) * interval '1 microsecond' END
$$;
CREATE FUNCTION remloom.micros(at timestamp) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT (extract(epoch FROM at) * 1000000)::bigint
$$;
CREATE FUNCTION remloom.time_part(unit text, at bigint) RETURNS double precision LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE unit WHEN 'epoch' THEN at / 1000000.0::double precision
                     WHEN 'millisecond' THEN floor(date_part('milliseconds', remloom.moment(at)))
                     WHEN 'microsecond' THEN date_part('microseconds', remloom.moment(at))
                     ELSE date_part(unit, remloom.moment(at)) END
$$;
CREATE FUNCTION remloom.time_trunc(unit text, at bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE WHEN found >= -62135596800000000 THEN found END
    FROM (SELECT remloom.micros(date_trunc(unit, remloom.moment(at))) AS found) t
$$;
CREATE FUNCTION remloom.time_shift(at bigint, months bigint, micros bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE WHEN found BETWEEN -62135596800000000 AND 253402300799999999 THEN found + micros END
    FROM (SELECT remloom.micros(remloom.moment(at) + make_interval(months => months::integer)) AS found) t
$$;
CREATE FUNCTION remloom.time_format(template text, at bigint) RETURNS text LANGUAGE sql STABLE STRICT AS $$
    SELECT to_char(remloom.moment(at), template)
$$;
CREATE FUNCTION remloom.time_shown(at bigint) RETURNS text LANGUAGE sql STABLE STRICT AS $$
    SELECT to_char(remloom.moment(at), 'YYYY-MM-DD"T"HH24:MI:SS')
           || CASE WHEN at % 1000000 = 0 THEN '' ELSE to_char(remloom.moment(at), '.US') END || 'Z'
$$;
CREATE FUNCTION remloom.time_of(told text) RETURNS bigint LANGUAGE plpgsql STABLE STRICT AS $$
BEGIN
    IF length(told) > 40 OR told !~ '^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?(Z|[+-]\d\d(:?\d\d)?)?$'
    THEN RETURN NULL; END IF;
    IF told ~ '(Z|\d[+-]\d\d(:?\d\d)?)$' AND length(told) > 10 THEN
        RETURN remloom.micros(told::timestamptz AT TIME ZONE 'UTC');
    END IF;
    RETURN remloom.micros(told::timestamp);
EXCEPTION WHEN data_exception THEN RETURN NULL;
END $$;
CREATE FUNCTION remloom.number_of(told text) RETURNS double precision LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF length(told) > 400 OR told !~ '^\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?\s*$' THEN RETURN NULL; END IF;
    RETURN told::double precision;
EXCEPTION WHEN data_exception THEN RETURN NULL;
END $$;
CREATE FUNCTION remloom.whole(value double precision) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE WHEN abs(value) < 9223372036854775000 THEN trunc(value)::bigint END
$$;
CREATE FUNCTION remloom.rounded(value double precision, places integer) RETURNS double precision LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE WHEN abs(value) > 1e15 THEN value ELSE round(value::numeric, places)::double precision END
$$;

-- Become a tenant until the end of the transaction, and say its name. Within a transaction it cannot be left for another.
CREATE FUNCTION remloom.enter(p_tenant text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(current_setting('remloom.tenant', true), '') NOT IN ('', p_tenant) THEN
        RAISE insufficient_privilege USING MESSAGE = 'this transaction belongs to another tenant';
    END IF;
    IF current_user <> 'remloom_tenant' THEN -- a connection of the pool is that already
        PERFORM set_config('role', 'remloom_tenant', true);
    END IF;
    RETURN set_config('remloom.tenant', p_tenant, true);
END $$;

-- An edge in force at a time. One asked for in the past began, if nothing else is said, when it was made.
CREATE FUNCTION remloom.in_force(e remloom.edges, p_at bigint, p_past boolean) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT (e.valid_to IS NULL OR e.valid_to > p_at) AND (e.valid_from IS NULL OR e.valid_from <= p_at)
           AND (NOT p_past OR e.valid_from IS NOT NULL OR e.created <= p_at)
$$;

-- A tenant's statements see the rows of that tenant. Forced: on the owner of the tables too. The tenant of a transaction is
-- read in a subquery, as something the planner cannot look into and that is evaluated once a statement.
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'remloom'::regnamespace AND c.relkind = 'r'
                AND c.relname <> 'alembic_version' LOOP
        EXECUTE format('ALTER TABLE remloom.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY own ON remloom.%I TO remloom_tenant'
                       ' USING (tenant_id = (SELECT current_setting(''remloom.tenant'', true)))', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON remloom.%I TO remloom_tenant', name);
        IF name <> 'tenants' THEN  -- whose names only its owner may list
            EXECUTE format('ALTER TABLE remloom.%I FORCE ROW LEVEL SECURITY', name);
        END IF;
    END LOOP;
END $$;

-- Under a policy PostgreSQL uses no index for an operator that is not leakproof (JSON, distances). Our own statements that
-- need one read these views, which say the same as the policy; what a user writes reads the tables.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['records', 'vectors'] LOOP
        EXECUTE format('CREATE POLICY views ON remloom.%I FOR SELECT TO remloom_views USING (true)', name);
        EXECUTE format('GRANT SELECT ON remloom.%I TO remloom_views', name);
        EXECUTE format('CREATE VIEW remloom.own_%1$s AS SELECT * FROM remloom.%1$I'
                       ' WHERE tenant_id = (SELECT current_setting(''remloom.tenant'', true))', name);
        EXECUTE format('ALTER VIEW remloom.own_%s OWNER TO remloom_views', name);
        EXECUTE format('GRANT SELECT ON remloom.own_%s TO remloom_tenant', name);
    END LOOP;
END $$;
-- A SELECT that a user writes runs as `remloom_reader`, within two functions that run as their owners: there no role can be
-- taken on, whatever is called. Its tenant is what a setting says that is signed with a secret, for this transaction alone:
-- a statement could change the setting, but not sign another tenant.
CREATE TABLE remloom.secret (id integer NOT NULL, secret text NOT NULL);
CREATE INDEX secret_id ON remloom.secret (id);
INSERT INTO remloom.secret SELECT 1, gen_random_uuid()::text || gen_random_uuid()::text;
REVOKE ALL ON remloom.secret FROM PUBLIC;
CREATE FUNCTION remloom.signature(p_tenant text) RETURNS text LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT encode(sha256(convert_to(concat_ws(':', secret, pg_backend_pid(), extract(epoch FROM now()), p_tenant, secret), 'UTF8')), 'hex')
    FROM remloom.secret WHERE id = 1
$$;
CREATE FUNCTION remloom.reading() RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    told text := coalesce(current_setting('remloom.reader', true), '');
    tenant text := split_part(told, ' ', 2);
BEGIN
    IF tenant = '' OR split_part(told, ' ', 1) <> remloom.signature(tenant) THEN
        RAISE insufficient_privilege USING MESSAGE = 'a SELECT may not choose its tenant';
    END IF;
    RETURN tenant;
END $$;
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['records', 'names', 'edges', 'parents'] LOOP
        EXECUTE format('CREATE POLICY reader ON remloom.%I FOR SELECT TO remloom_reader'
                       ' USING (tenant_id = (SELECT remloom.reading()))', name);
        EXECUTE format('GRANT SELECT ON remloom.%I TO remloom_reader', name);
    END LOOP;
END $$;
CREATE VIEW remloom.read_records AS SELECT * FROM remloom.records WHERE tenant_id = (SELECT remloom.reading());
ALTER VIEW remloom.read_records OWNER TO remloom_views;
GRANT SELECT ON remloom.read_records TO remloom_reader;

-- The rows of a SELECT, which gives one text a row, and no more of them than so many bytes. It reads only: not volatile.
CREATE FUNCTION remloom.fetch(p_sql text, p_values text[], p_bytes bigint) RETURNS SETOF text LANGUAGE plpgsql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    line text;
    spent bigint := 0;
BEGIN
    FOR line IN EXECUTE p_sql USING p_values LOOP
        spent := spent + octet_length(line);
        IF spent > p_bytes THEN
            RAISE SQLSTATE 'RL001' USING MESSAGE = 'the rows are too long';
        END IF;
        RETURN NEXT line;
    END LOOP;
END $$;
CREATE FUNCTION remloom.plan(p_sql text, p_values text[]) RETURNS SETOF text LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || p_sql USING p_values LOOP
        RETURN NEXT line;
    END LOOP;
END $$;
ALTER FUNCTION remloom.fetch(text, text[], bigint) OWNER TO remloom_reader;
ALTER FUNCTION remloom.plan(text, text[]) OWNER TO remloom_reader;
CREATE FUNCTION remloom.sign() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tenant text := coalesce(current_setting('remloom.tenant', true), '');
BEGIN
    IF tenant = '' THEN
        RAISE insufficient_privilege USING MESSAGE = 'this transaction belongs to no tenant';
    END IF;
    PERFORM set_config('remloom.reader', remloom.signature(tenant) || ' ' || tenant, true);
END $$;
CREATE FUNCTION remloom.answer(p_sql text, p_values text[], p_bytes bigint) RETURNS SETOF text LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM remloom.sign();
    RETURN QUERY SELECT * FROM remloom.fetch(p_sql, p_values, p_bytes);
END $$;
CREATE FUNCTION remloom.explain(p_sql text, p_values text[]) RETURNS SETOF text LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM remloom.sign();
    RETURN QUERY SELECT * FROM remloom.plan(p_sql, p_values);
END $$;

REVOKE CREATE ON SCHEMA remloom FROM remloom_views, remloom_reader;
GRANT SELECT ON remloom.alembic_version TO PUBLIC; -- whoever opens the database asks for it
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA remloom FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA remloom TO remloom_tenant;
REVOKE EXECUTE ON FUNCTION remloom.signature, remloom.sign, remloom.fetch, remloom.plan FROM remloom_tenant;
GRANT EXECUTE ON FUNCTION remloom.signature, remloom.sign, remloom.fetch, remloom.plan TO CURRENT_USER;
GRANT EXECUTE ON FUNCTION
    remloom.number_key, remloom.sortable, remloom.moment, remloom.micros, remloom.time_part, remloom.time_trunc,
    remloom.time_shift, remloom.time_format, remloom.time_shown, remloom.time_of, remloom.number_of, remloom.whole,
    remloom.rounded, remloom.reading TO remloom_reader;
GRANT EXECUTE ON FUNCTION remloom.reading TO remloom_views;
