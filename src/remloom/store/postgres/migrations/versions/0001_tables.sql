-- Every tenant in one set of tables; `tenant_id` leads every primary key, so that Citus can distribute by it.
-- Times are microseconds since 1970 UTC. A key of more than 1,000 bytes stands shortened (see keys.short) in `key`, `src` and
-- `dst`, and whole in `names.label`.

-- Two roles that own no table and cannot log in. Every statement about a tenant runs as the first.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['remloom_tenant', 'remloom_views'] LOOP
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
GRANT USAGE, CREATE ON SCHEMA remloom TO remloom_views;

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
-- 16 bytes a posting (see postings.py). Small runs are merged as they become many.
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

-- What is kept beside the records: see `remloom.journal`. The table of subjects finds the entries that go with a record.
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

-- What a JSON value is indexed as: long texts by their beginning, lists and objects not at all.
CREATE FUNCTION remloom.sortable(value jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE jsonb_typeof(value) WHEN 'string' THEN to_jsonb(left(value #>> '{}', 200))
                                    WHEN 'number' THEN value WHEN 'boolean' THEN value END
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
REVOKE CREATE ON SCHEMA remloom FROM remloom_views;
GRANT SELECT ON remloom.alembic_version TO PUBLIC; -- whoever opens the database asks for it
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA remloom FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA remloom TO remloom_tenant;
