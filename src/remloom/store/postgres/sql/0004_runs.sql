-- Texts are indexed a write at a time, and rows are stored with fewer probes each.

-- The tenant of a transaction, as something the planner cannot look into: whatever the statistics say of this tenant, it
-- counts on all the rows there are, and goes by the most of an index. (A subquery; it is also evaluated once a statement.)
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT tablename FROM pg_policies WHERE schemaname = 'remloom' AND policyname = 'own' LOOP
        EXECUTE format('ALTER POLICY own ON remloom.%I'
                       ' USING (tenant_id = (SELECT current_setting(''remloom.tenant'', true)))', name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['records', 'names', 'vectors'] LOOP
        EXECUTE format('CREATE OR REPLACE VIEW remloom.own_%1$s AS SELECT * FROM remloom.%1$I WHERE tenant_id %2$s'
                       ' = (SELECT current_setting(''remloom.tenant'', true))',
                       name, CASE name WHEN 'names' THEN '|| ''''' ELSE '' END);
    END LOOP;
END $$;

-- Who writes or deletes a record does so with its names, vectors and place in the queue, and holds the tenant's lock:
-- looking each of them up in `records` took half the time of a write. (`check` sees what would be wrong.)
ALTER TABLE remloom.names DROP CONSTRAINT names_tenant_id_id_fkey;
ALTER TABLE remloom.vectors DROP CONSTRAINT vectors_tenant_id_id_fkey;
ALTER TABLE remloom.pending DROP CONSTRAINT pending_tenant_id_id_fkey;

-- The inverted index of texts. What one write indexes is a run: its postings by term, in 2^bits rows of some hundred each,
-- 16 bytes a posting (see postings.py). Small runs are merged as they become many.
CREATE TABLE remloom.runs (
    tenant_id text COLLATE "C" NOT NULL,
    run       bigint NOT NULL, -- no document in it has a lower number, none in those before it as high a one
    bits      integer NOT NULL,
    size      bigint NOT NULL, -- postings when it was written
    PRIMARY KEY (tenant_id, run)
);
ALTER TABLE remloom.postings RENAME TO blocks;
ALTER INDEX remloom.postings_pkey RENAME TO blocks_pkey;
CREATE TABLE remloom.postings (
    tenant_id text COLLATE "C" NOT NULL,
    run       bigint NOT NULL,
    bucket    integer NOT NULL, -- the first `bits` of the 40 of each term in it
    data      bytea NOT NULL,
    PRIMARY KEY (tenant_id, run, bucket)
) WITH (toast_tuple_target = 8160);
ALTER TABLE remloom.postings ALTER COLUMN data SET STORAGE EXTERNAL;
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['runs', 'postings'] LOOP
        EXECUTE format('ALTER TABLE remloom.%I ALTER COLUMN tenant_id SET (n_distinct = 1)', name);
        EXECUTE format('ALTER TABLE remloom.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY own ON remloom.%I TO remloom_tenant'
                       ' USING (tenant_id = (SELECT current_setting(''remloom.tenant'', true)))', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON remloom.%I TO remloom_tenant', name);
    END LOOP;
END $$;

-- What is indexed already becomes one run of each tenant.
ALTER TABLE remloom.blocks NO FORCE ROW LEVEL SECURITY;
INSERT INTO remloom.runs
SELECT tenant_id, 0, ceil(log(2, greatest(sum(length(data)) / 8 / 256, 1)))::integer, sum(length(data)) / 8
FROM remloom.blocks GROUP BY tenant_id;
INSERT INTO remloom.postings
SELECT b.tenant_id, 0, (b.term >> (40 - r.bits))::integer, string_agg(
           int8send((b.term << 24) + get_byte(b.data, i + 2) + (get_byte(b.data, i + 3) << 8))
           || int4send((b.block << 9) + get_byte(b.data, i) + (get_byte(b.data, i + 1) << 8))
           || int4send(get_byte(b.data, i + 4) + (get_byte(b.data, i + 5) << 8) + (get_byte(b.data, i + 6) << 16)
                       + (get_byte(b.data, i + 7) << 24)), ''
           ORDER BY b.term, b.block, i)
FROM remloom.blocks b JOIN remloom.runs r USING (tenant_id)
CROSS JOIN LATERAL generate_series(0, length(b.data) - 8, 8) i
GROUP BY 1, 3;
DROP TABLE remloom.blocks;
ALTER TABLE remloom.runs FORCE ROW LEVEL SECURITY;
ALTER TABLE remloom.postings FORCE ROW LEVEL SECURITY;

-- No row counts the edges of all types at a key any more: adding up those of each type takes less than keeping it.
DELETE FROM remloom.degrees WHERE rel = '';
CREATE OR REPLACE FUNCTION remloom.degree(p_tenant text, p_key text, p_side integer, p_rels text[], p_at bigint, p_past boolean)
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

-- TRAVERSE: breadth first, a level a statement; a simple one where no record has several keys and edges are followed
-- one way. One function for each order in which a node's edges are followed, so
-- that each keeps its plans. The first row has the totals and no path; then a row for each key reached, in order.
DO $$
DECLARE
    field text;
    kind text;
    down boolean;
    direction text;
    step text := $step$
                SELECT array_agg(x.other), array_agg(behind + f.place::integer), array_agg(x.val), count(*)
                INTO fresh, from_nodes, fresh_vals, passed
                FROM unnest(frontier) WITH ORDINALITY f (key, place) CROSS JOIN LATERAL (
                    SELECT e.%2$s AS other, e.%3$s AS val FROM remloom.edges e
                    WHERE e.tenant_id = p_tenant AND e.%1$s = f.key AND remloom.in_force(e, p_at, p_past)
                      AND (p_rels IS NULL OR e.rel = ANY (p_rels))
                    ORDER BY e.%3$s %4$s LIMIT p_breadth) x;$step$;
BEGIN
    FOR field, kind IN VALUES ('created', 'bigint'), ('weight', 'double precision'), ('valid_from', 'bigint'),
                              ('valid_to', 'bigint'), ('rel', 'text'), ('dst', 'text') LOOP
        FOREACH down IN ARRAY ARRAY[true, false] LOOP
            -- Unset values are lowest. `created` is always set, and only a plain order reads the index backwards.
            direction := CASE WHEN down THEN 'DESC' ELSE 'ASC' END
                || CASE WHEN field NOT LIKE 'valid%' THEN '' WHEN down THEN ' NULLS LAST' ELSE ' NULLS FIRST' END;
            EXECUTE format($template$
CREATE OR REPLACE FUNCTION remloom.walk_%1$s_%2$s(
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
    unseen bigint := 0;  -- nodes of the last level that are not kept
    passed bigint;
    plain boolean;
    asked_keys text[] := '{}';  -- whose edges were followed, and on which side
    asked_sides integer[] := '{}';
    sides integer[] := CASE WHEN p_out AND p_in THEN '{0,1}' WHEN p_out THEN '{0}' ELSE '{1}' END;
    starts integer;
    at integer;
BEGIN
    PERFORM remloom.enter(p_tenant);
    plain := NOT (p_out AND p_in) AND NOT EXISTS (
        SELECT FROM remloom.names n WHERE n.tenant_id = p_tenant AND n.kin);
    SELECT array_agg(s.key ORDER BY s.place) INTO frontier FROM unnest(p_starts) WITH ORDINALITY s (key, place)
    WHERE EXISTS (SELECT FROM remloom.names n WHERE n.tenant_id = p_tenant AND n.key = s.key OFFSET 0);
    IF NOT plain THEN  -- without those that are another key of a start before them
        SELECT array_agg(s.key ORDER BY s.place) INTO frontier FROM unnest(frontier) WITH ORDINALITY s (key, place)
        WHERE NOT EXISTS (
            SELECT FROM unnest(frontier) WITH ORDINALITY t (key, place)
            CROSS JOIN LATERAL (SELECT a.id FROM remloom.names a
                WHERE a.tenant_id = p_tenant AND a.key = t.key AND a.kin OFFSET 0) a
            CROSS JOIN LATERAL (SELECT FROM remloom.names b
                WHERE b.tenant_id = p_tenant AND b.id = a.id AND b.key = s.key AND b.kin OFFSET 0) b
            WHERE t.place < s.place);
    END IF;
    frontier := coalesce(frontier, '{}');
    starts := cardinality(frontier);
    keys := frontier;
    depths := array_fill(0, ARRAY[starts]);
    origins := depths;
    vals := array_fill(NULL::%3$s, ARRAY[starts]);
    visited := frontier;
    IF NOT plain THEN
        SELECT frontier || array_agg(b.key) INTO visited FROM unnest(frontier) f (key)
        CROSS JOIN LATERAL (SELECT a.id FROM remloom.names a
            WHERE a.tenant_id = p_tenant AND a.key = f.key AND a.kin OFFSET 0) a
        CROSS JOIN LATERAL (SELECT b.key FROM remloom.names b
            WHERE b.tenant_id = p_tenant AND b.id = a.id AND b.key <> f.key AND b.kin OFFSET 0) b;
    END IF;
    unfollowed := 0;
    depth := 0;
    WHILE cardinality(frontier) > 0 AND level < p_depth LOOP
        level := level + 1;
        IF plain THEN
            -- In arrays, in the order the edges come in, each key by the first edge that reached it.
            IF p_out THEN
%7$s
            ELSE
%8$s
            END IF;
            -- Of the last level, only what may be shown is kept, and the others are counted.
            WITH first AS MATERIALIZED (
                SELECT u.key, min(u.n) AS n FROM unnest(fresh) WITH ORDINALITY u (key, n)
                WHERE u.key NOT IN (SELECT unnest(visited)) GROUP BY u.key
            ), kept AS (
                SELECT f.key, f.n, fresh_vals[f.n] AS val FROM first f
                ORDER BY CASE WHEN level = p_depth THEN fresh_vals[f.n] END %5$s, f.n
                LIMIT CASE WHEN level = p_depth AND p_limit > 0 THEN p_limit END
            )
            SELECT array_agg(k.key), array_agg(from_nodes[k.n]), array_agg(k.val),
                   (SELECT count(*) FROM first) - count(*)
            INTO fresh, from_nodes, fresh_vals, unseen FROM kept k;
            asked_keys := asked_keys || frontier;
            asked_sides := asked_sides || array_fill(sides[1], ARRAY[cardinality(frontier)]);
        ELSE
            WITH labels AS MATERIALIZED (
                SELECT f.place, f.key, 0 AS rank FROM unnest(frontier) WITH ORDINALITY f (key, place)
                UNION ALL
                SELECT DISTINCT f.place, b.key, 1 FROM unnest(frontier) WITH ORDINALITY f (key, place)
                CROSS JOIN LATERAL (SELECT a.id FROM remloom.names a
                    WHERE a.tenant_id = p_tenant AND a.key = f.key AND a.kin OFFSET 0) a
                CROSS JOIN LATERAL (SELECT b.key FROM remloom.names b
                    WHERE b.tenant_id = p_tenant AND b.id = a.id AND b.key <> f.key AND b.kin OFFSET 0) b
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
                WHERE k.other NOT IN (SELECT unnest(visited))
                ORDER BY k.other, k.place, k.nth
            ), kin AS MATERIALIZED (
                SELECT w.place, w.nth, b.key FROM new w
                CROSS JOIN LATERAL (SELECT a.id FROM remloom.names a
                    WHERE a.tenant_id = p_tenant AND a.key = w.other AND a.kin OFFSET 0) a
                CROSS JOIN LATERAL (SELECT b.key FROM remloom.names b
                    WHERE b.tenant_id = p_tenant AND b.id = a.id AND b.key <> w.other AND b.kin OFFSET 0) b
            ), first AS (
                SELECT * FROM new w WHERE NOT EXISTS (
                    SELECT FROM kin WHERE kin.key = w.other AND (kin.place, kin.nth) < (w.place, w.nth))
            )
            SELECT array_agg(f.other ORDER BY f.place, f.nth), array_agg(behind + f.place::integer ORDER BY f.place, f.nth),
                   array_agg(f.val ORDER BY f.place, f.nth), (SELECT array_agg(kin.key) FROM kin),
                   (SELECT count(*) FROM kept),
                   asked_keys || (SELECT array_agg(l.key ORDER BY l.key, s.side) FROM labels l, unnest(sides) s (side)),
                   asked_sides || (SELECT array_agg(s.side ORDER BY l.key, s.side) FROM labels l, unnest(sides) s (side))
            INTO fresh, from_nodes, fresh_vals, family, passed, asked_keys, asked_sides FROM first f;
        END IF;
        unfollowed := unfollowed - passed;
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
    reached := cardinality(keys) - starts + unseen;
    IF p_breadth IS NULL THEN
        unfollowed := 0;
    ELSIF p_past OR EXISTS (SELECT FROM remloom.edges e WHERE e.tenant_id = p_tenant
                         AND (e.valid_from IS NOT NULL OR e.valid_to IS NOT NULL)) THEN
        unfollowed := unfollowed + coalesce((
            SELECT sum(remloom.degree(p_tenant, f.key, f.side, p_rels, p_at, p_past))
            FROM unnest(asked_keys, asked_sides) f (key, side)), 0);
    ELSE
        unfollowed := unfollowed + coalesce((
            SELECT sum(d.edges) FROM unnest(asked_keys, asked_sides) f (key, side) CROSS JOIN LATERAL (
                SELECT d.edges FROM remloom.degrees d WHERE d.tenant_id = p_tenant AND d.key = f.key AND d.side = f.side
                  AND (p_rels IS NULL OR d.rel = ANY (p_rels)) OFFSET 0) d), 0);
    END IF;
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
END $body$ SET enable_hashjoin = on $template$,
                field, CASE WHEN down THEN 'desc' ELSE 'asc' END, kind, field, direction,
                CASE WHEN field = 'dst' THEN 'src' ELSE field END,
                format(step, 'src', 'dst', field, direction),
                format(step, 'dst', 'src', CASE WHEN field = 'dst' THEN 'src' ELSE field END, direction));
        END LOOP;
    END LOOP;
END $$;
