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

CREATE SCHEMA remloom;
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
    terms      bigint NOT NULL DEFAULT 0
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
CREATE INDEX records_type ON remloom.records (tenant_id, schema, type);
CREATE INDEX records_uri ON remloom.records (tenant_id, md5(uri)) WHERE uri IS NOT NULL;
CREATE INDEX records_starts ON remloom.records (tenant_id, schema, starts) WHERE starts IS NOT NULL;
-- Moments of more than 31 days, apart, so that a window need not look back further than that for the others.
CREATE INDEX records_long ON remloom.records (tenant_id, ends, starts) WHERE ends - starts > 2678400000000;

-- Every key by which something can be looked up. rank 0: the key of its name; 1…: of its aliases.
CREATE TABLE remloom.names (
    tenant_id text COLLATE "C" NOT NULL,
    key       text COLLATE "C" NOT NULL,
    id        text COLLATE "C" NOT NULL,
    rank      integer NOT NULL,
    label     text COLLATE "C",
    PRIMARY KEY (tenant_id, key, id),
    FOREIGN KEY (tenant_id, id) REFERENCES remloom.records ON DELETE CASCADE
);
CREATE INDEX names_id ON remloom.names (tenant_id, id);
CREATE INDEX names_trigrams ON remloom.names USING gin (key gin_trgm_ops);

CREATE TABLE remloom.rels (
    tenant_id text COLLATE "C" NOT NULL,
    rel       text COLLATE "C" NOT NULL,
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
CREATE INDEX edges_out ON remloom.edges (tenant_id, src, created);
CREATE INDEX edges_in ON remloom.edges (tenant_id, dst, created);
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
    PRIMARY KEY (tenant_id, id, model, part),
    FOREIGN KEY (tenant_id, id) REFERENCES remloom.records ON DELETE CASCADE
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
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, id) REFERENCES remloom.records ON DELETE CASCADE
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

-- The inverted index of texts: the documents of one block (doc >> 9) that have a term, 8 bytes each (see postings.py).
CREATE TABLE remloom.postings (
    tenant_id text COLLATE "C" NOT NULL,
    term      bigint NOT NULL,
    block     integer NOT NULL,
    data      bytea NOT NULL,
    PRIMARY KEY (tenant_id, term, block)
) WITH (fillfactor = 80);
ALTER TABLE remloom.postings ALTER COLUMN data SET STORAGE PLAIN;

-- A tenant's statements see the rows of that tenant. Forced: on the owner of the tables too.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['tenants', 'records', 'names', 'rels', 'edges', 'degrees', 'models', 'vectors', 'pending', 'parents', 'postings'] LOOP
        EXECUTE format('ALTER TABLE remloom.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY own ON remloom.%I TO remloom_tenant'
                       ' USING (tenant_id = current_setting(''remloom.tenant'', true))', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON remloom.%I TO remloom_tenant', name);
        IF name <> 'tenants' THEN  -- whose names only its owner may list
            EXECUTE format('ALTER TABLE remloom.%I FORCE ROW LEVEL SECURITY', name);
        END IF;
    END LOOP;
END $$;

-- Under a policy PostgreSQL uses no index for an operator that is not leakproof (trigrams, JSON, distances). Our own
-- statements that need one read these views, which say the same as the policy; what a user writes reads the tables.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['records', 'names', 'vectors'] LOOP
        EXECUTE format('CREATE POLICY views ON remloom.%I FOR SELECT TO remloom_views USING (true)', name);
        EXECUTE format('GRANT SELECT ON remloom.%I TO remloom_views', name);
        -- A trigram narrows more than the range of a large tenant's keys, and the planner does not know: `|| ''` hides the range.
        EXECUTE format('CREATE VIEW remloom.own_%1$s AS SELECT * FROM remloom.%1$I WHERE tenant_id %2$s'
                       ' = current_setting(''remloom.tenant'', true)', name, CASE name WHEN 'names' THEN '|| ''''' ELSE '' END);
        EXECUTE format('ALTER VIEW remloom.own_%s OWNER TO remloom_views', name);
        EXECUTE format('GRANT SELECT ON remloom.own_%s TO remloom_tenant', name);
    END LOOP;
END $$;
REVOKE CREATE ON SCHEMA remloom FROM remloom_views;

-- Become a tenant until the end of the transaction. Within a transaction it cannot be left for another one.
CREATE FUNCTION remloom.enter(p_tenant text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(current_setting('remloom.tenant', true), '') NOT IN ('', p_tenant) THEN
        RAISE insufficient_privilege USING MESSAGE = 'this transaction belongs to another tenant';
    END IF;
    IF current_user <> 'remloom_tenant' THEN -- a connection of the pool is that already
        PERFORM set_config('role', 'remloom_tenant', true);
    END IF;
    PERFORM set_config('remloom.tenant', p_tenant, true);
END $$;

-- An edge in force at a time. One asked for in the past began, if nothing else is said, when it was made.
CREATE FUNCTION remloom.in_force(e remloom.edges, p_at bigint, p_past boolean) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT (e.valid_to IS NULL OR e.valid_to > p_at) AND (e.valid_from IS NULL OR e.valid_from <= p_at)
           AND (NOT p_past OR e.valid_from IS NOT NULL OR e.created <= p_at)
$$;

-- How many edges are in force at one side of a key: all of them but the dated ones that are not.
CREATE FUNCTION remloom.degree(p_tenant text, p_key text, p_side integer, p_rels text[], p_at bigint, p_past boolean)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_past THEN
        RETURN (SELECT count(*) FROM remloom.edges e WHERE p_side = 0 AND e.tenant_id = p_tenant AND e.src = p_key
                AND remloom.in_force(e, p_at, true) AND (p_rels IS NULL OR e.rel = ANY (p_rels)))
             + (SELECT count(*) FROM remloom.edges e WHERE p_side = 1 AND e.tenant_id = p_tenant AND e.dst = p_key
                AND remloom.in_force(e, p_at, true) AND (p_rels IS NULL OR e.rel = ANY (p_rels)));
    END IF;
    RETURN (SELECT coalesce(sum(d.edges), 0) FROM remloom.degrees d WHERE d.tenant_id = p_tenant AND d.key = p_key
            AND d.side = p_side AND (p_rels IS NULL OR d.rel = ANY (p_rels)))
         - (SELECT count(*) FROM remloom.edges e WHERE p_side = 0 AND e.tenant_id = p_tenant AND e.src = p_key
            AND (e.valid_from IS NOT NULL OR e.valid_to IS NOT NULL) AND NOT remloom.in_force(e, p_at, false)
            AND (p_rels IS NULL OR e.rel = ANY (p_rels)))
         - (SELECT count(*) FROM remloom.edges e WHERE p_side = 1 AND e.tenant_id = p_tenant AND e.dst = p_key
            AND (e.valid_from IS NOT NULL OR e.valid_to IS NOT NULL) AND NOT remloom.in_force(e, p_at, false)
            AND (p_rels IS NULL OR e.rel = ANY (p_rels)));
END $$;

-- What a JSON value is indexed as: long texts by their beginning, lists and objects not at all.
CREATE FUNCTION remloom.sortable(value jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE jsonb_typeof(value) WHEN 'string' THEN to_jsonb(left(value #>> '{}', 200))
                                    WHEN 'number' THEN value WHEN 'boolean' THEN value END
$$;

CREATE FUNCTION remloom.get(p_tenant text, p_id text) RETURNS TABLE (schema text, body jsonb, content text)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM remloom.enter(p_tenant);
    RETURN QUERY SELECT r.schema, r.body, r.content FROM remloom.records r WHERE r.tenant_id = p_tenant AND r.id = p_id;
END $$;

-- The records that have each key, those it names before those it is an alias of, with their newest edges as rows of JSON.
CREATE FUNCTION remloom.lookup(p_tenant text, p_keys text[], p_edges integer, p_at bigint, p_past boolean)
RETURNS TABLE (key text, schema text, body jsonb, content text, paths json) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM remloom.enter(p_tenant);
    IF p_edges = 0 THEN
        RETURN QUERY
        SELECT n.key, r.schema, r.body, r.content, NULL::json
        FROM unnest(p_keys) WITH ORDINALITY k (key, place)
        JOIN remloom.names n ON n.tenant_id = p_tenant AND n.key = k.key
        JOIN remloom.records r ON r.tenant_id = p_tenant AND r.id = n.id
        ORDER BY k.place, n.rank, r.seq;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT n.key, r.schema, r.body, r.content, g.paths
    FROM unnest(p_keys) WITH ORDINALITY k (key, place)
    JOIN remloom.names n ON n.tenant_id = p_tenant AND n.key = k.key
    JOIN remloom.records r ON r.tenant_id = p_tenant AND r.id = n.id
    LEFT JOIN LATERAL (
        SELECT json_agg(json_build_array(o.src, o.rel, o.dst, o.weight, o.created, o.valid_from, o.valid_to, o.properties)) AS paths
        FROM (
            SELECT f.* FROM remloom.names m
            CROSS JOIN LATERAL (
                SELECT e.* FROM remloom.edges e
                WHERE e.tenant_id = p_tenant AND e.src = m.key AND remloom.in_force(e, p_at, p_past)
                ORDER BY e.created DESC LIMIT p_edges
            ) f
            WHERE m.tenant_id = p_tenant AND m.id = r.id
            ORDER BY f.created DESC LIMIT p_edges
        ) o
    ) g ON true
    ORDER BY k.place, n.rank, r.seq;
END $$;

-- TRAVERSE: breadth first, a level a statement. One function for each order in which a node's edges are followed, so
-- that each keeps its plans. The first row has the totals and no path; then a row for each key reached, in order.
DO $$
DECLARE
    field text;
    kind text;
    down boolean;
    direction text;
BEGIN
    FOR field, kind IN VALUES ('created', 'bigint'), ('weight', 'double precision'), ('valid_from', 'bigint'),
                              ('valid_to', 'bigint'), ('rel', 'text'), ('dst', 'text') LOOP
        FOREACH down IN ARRAY ARRAY[true, false] LOOP
            -- Unset values are lowest. `created` is always set, and only a plain order reads the index backwards.
            direction := CASE WHEN down THEN 'DESC' ELSE 'ASC' END
                || CASE WHEN field NOT LIKE 'valid%' THEN '' WHEN down THEN ' NULLS LAST' ELSE ' NULLS FIRST' END;
            EXECUTE format($template$
CREATE FUNCTION remloom.walk_%1$s_%2$s(
    p_tenant text, p_starts text[], p_rels text[], p_out boolean, p_in boolean, p_depth integer, p_breadth integer,
    p_limit integer, p_at bigint, p_past boolean
) RETURNS TABLE (path text[], depth integer, reached integer, unfollowed bigint) LANGUAGE plpgsql AS $body$
DECLARE
    keys text[] := '{}';  -- every node, the starts first, with its depth, the node it was reached from, and its value
    depths integer[] := '{}';
    origins integer[] := '{}';
    vals %3$s[] := '{}';
    visited text[];  -- the nodes and the other keys of their records
    behind integer := 0;  -- nodes before this level's frontier
    frontier text[];
    level integer := 0;
    fresh text[];
    from_nodes integer[];
    fresh_vals %3$s[];
    family text[];
    passed bigint;
    starts integer;
    at integer;
BEGIN
    PERFORM remloom.enter(p_tenant);
    SELECT array_agg(s.key ORDER BY s.place) INTO frontier FROM unnest(p_starts) WITH ORDINALITY s (key, place)
    WHERE EXISTS (SELECT FROM remloom.names n WHERE n.tenant_id = p_tenant AND n.key = s.key)
      AND NOT EXISTS (  -- another key of a start before it
          SELECT FROM unnest(p_starts) WITH ORDINALITY t (key, place)
          JOIN remloom.names a ON a.tenant_id = p_tenant AND a.key = t.key
          JOIN remloom.names b ON b.tenant_id = p_tenant AND b.id = a.id AND b.key = s.key
          WHERE t.place < s.place);
    frontier := coalesce(frontier, '{}');
    starts := cardinality(frontier);
    keys := frontier;
    depths := array_fill(0, ARRAY[starts]);
    origins := depths;
    vals := array_fill(NULL::%3$s, ARRAY[starts]);
    SELECT frontier || array_agg(b.key) INTO visited FROM unnest(frontier) f (key)
    JOIN remloom.names a ON a.tenant_id = p_tenant AND a.key = f.key
    JOIN remloom.names b ON b.tenant_id = p_tenant AND b.id = a.id AND b.key <> a.key;
    unfollowed := 0;
    depth := 0;
    WHILE cardinality(frontier) > 0 AND level < p_depth LOOP
        level := level + 1;
        WITH labels AS MATERIALIZED (
            SELECT f.place, f.key, 0 AS rank FROM unnest(frontier) WITH ORDINALITY f (key, place)
            UNION ALL
            SELECT DISTINCT f.place, b.key, 1 FROM unnest(frontier) WITH ORDINALITY f (key, place)
            JOIN remloom.names a ON a.tenant_id = p_tenant AND a.key = f.key
            JOIN remloom.names b ON b.tenant_id = p_tenant AND b.id = a.id AND b.key <> a.key
        ), found AS MATERIALIZED (
            SELECT l.place, l.rank, l.key AS label, x.side, x.other, x.val, row_number() OVER () AS row
            FROM labels l CROSS JOIN LATERAL (
                (SELECT 0 AS side, e.dst AS other, e.%1$s AS val FROM remloom.edges e
                 WHERE p_out AND e.tenant_id = p_tenant AND e.src = l.key AND remloom.in_force(e, p_at, p_past)
                   AND (p_rels IS NULL OR e.rel = ANY (p_rels))
                 ORDER BY e.%4$s %5$s LIMIT p_breadth)
                UNION ALL
                (SELECT 1, e.src, e.%6$s FROM remloom.edges e
                 WHERE p_in AND e.tenant_id = p_tenant AND e.dst = l.key AND remloom.in_force(e, p_at, p_past)
                   AND (p_rels IS NULL OR e.rel = ANY (p_rels))
                 ORDER BY e.%6$s %5$s LIMIT p_breadth)
            ) x
        ), ranked AS MATERIALIZED (
            SELECT f.*, row_number() OVER (PARTITION BY f.place ORDER BY f.val %5$s, f.rank, f.label, f.side, f.row) AS nth FROM found f
        ), kept AS MATERIALIZED (
            SELECT * FROM ranked r WHERE p_breadth IS NULL OR r.nth <= p_breadth
        ), new AS MATERIALIZED (
            SELECT DISTINCT ON (k.other) k.other, k.place, k.nth, k.val FROM kept k
            WHERE NOT EXISTS (SELECT FROM unnest(visited) v (key) WHERE v.key = k.other)
            ORDER BY k.other, k.place, k.nth
        ), kin AS MATERIALIZED (
            SELECT w.place, w.nth, b.key FROM new w
            JOIN remloom.names a ON a.tenant_id = p_tenant AND a.key = w.other
            JOIN remloom.names b ON b.tenant_id = p_tenant AND b.id = a.id AND b.key <> a.key
        ), first AS (
            SELECT * FROM new w WHERE NOT EXISTS (
                SELECT FROM kin WHERE kin.key = w.other AND (kin.place, kin.nth) < (w.place, w.nth))
        )
        SELECT array_agg(f.other ORDER BY f.place, f.nth), array_agg(behind + f.place::integer ORDER BY f.place, f.nth),
               array_agg(f.val ORDER BY f.place, f.nth), (SELECT array_agg(kin.key) FROM kin),
               (SELECT coalesce(sum(CASE WHEN c.n < p_breadth OR p_breadth IS NULL THEN c.n
                    ELSE remloom.degree(p_tenant, c.label, c.side, p_rels, p_at, p_past) END), 0)
                FROM (SELECT f.label, f.side, count(*) AS n FROM found f GROUP BY f.place, f.label, f.side) c)
               - (SELECT count(*) FROM kept)
        INTO fresh, from_nodes, fresh_vals, family, passed FROM first f;
        unfollowed := unfollowed + passed;
        behind := cardinality(keys);
        frontier := coalesce(fresh, '{}');
        EXIT WHEN cardinality(frontier) = 0;
        depth := level;
        keys := keys || fresh;
        depths := depths || array_fill(level, ARRAY[cardinality(fresh)]);
        origins := origins || from_nodes;
        vals := vals || fresh_vals;
        visited := visited || fresh || family;
    END LOOP;
    reached := cardinality(keys) - starts;
    RETURN NEXT;
    FOR at, depth IN
        SELECT n.place, n.depth FROM unnest(vals, depths) WITH ORDINALITY n (val, depth, place) WHERE n.depth > 0
        ORDER BY n.val %5$s, n.place LIMIT p_limit
    LOOP
        path := '{}';
        WHILE at > 0 LOOP
            path := keys[at] || path;
            at := origins[at];
        END LOOP;
        RETURN NEXT;
    END LOOP;
END $body$ $template$,
                field, CASE WHEN down THEN 'desc' ELSE 'asc' END, kind, field, direction,
                CASE WHEN field = 'dst' THEN 'src' ELSE field END);
        END LOOP;
    END LOOP;
END $$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA remloom FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA remloom TO remloom_tenant;
