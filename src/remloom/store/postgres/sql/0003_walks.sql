-- Plans that do not depend on what is known of a tenant, and walks that ask for what a tenant really has.

-- A tenant is planned for as if it were all there is: a probe a key, never a range of the tenant's keys.
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'remloom'::regnamespace AND c.relkind = 'r' LOOP
        EXECUTE format('ALTER TABLE remloom.%I ALTER COLUMN tenant_id SET (n_distinct = 1)', name);
    END LOOP;
END $$;

-- Whether its record has other keys too. Few have, and only those need be looked for when a walk meets one.
ALTER TABLE remloom.names ADD COLUMN kin boolean NOT NULL DEFAULT false;
UPDATE remloom.names n SET kin = true WHERE EXISTS (
    SELECT FROM remloom.names o WHERE o.tenant_id = n.tenant_id AND o.id = n.id AND o.key <> n.key);
CREATE INDEX names_kin ON remloom.names (tenant_id, key, id) WHERE kin;
CREATE INDEX names_kin_id ON remloom.names (tenant_id, id, key) WHERE kin;

-- A row without an edge type counts the edges of all types at a key.
INSERT INTO remloom.degrees SELECT tenant_id, key, side, '', sum(edges) FROM remloom.degrees GROUP BY 1, 2, 3;
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
            AND d.side = p_side AND d.rel = ANY (coalesce(p_rels, ARRAY[''])))
         - (SELECT count(*) FROM remloom.edges e WHERE p_side = 0 AND e.tenant_id = p_tenant AND e.src = p_key
            AND (e.valid_from IS NOT NULL OR e.valid_to IS NOT NULL) AND NOT remloom.in_force(e, p_at, false)
            AND (p_rels IS NULL OR e.rel = ANY (p_rels)))
         - (SELECT count(*) FROM remloom.edges e WHERE p_side = 1 AND e.tenant_id = p_tenant AND e.dst = p_key
            AND (e.valid_from IS NOT NULL OR e.valid_to IS NOT NULL) AND NOT remloom.in_force(e, p_at, false)
            AND (p_rels IS NULL OR e.rel = ANY (p_rels)));
END $$;

CREATE OR REPLACE FUNCTION remloom.lookup(p_tenant text, p_keys text[], p_edges integer, p_at bigint, p_past boolean)
RETURNS TABLE (key text, schema text, body jsonb, content text, paths json) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM remloom.enter(p_tenant);
    IF p_edges = 0 THEN
        RETURN QUERY
        SELECT k.key, r.schema, r.body, r.content, NULL::json
        FROM unnest(p_keys) WITH ORDINALITY k (key, place)
        CROSS JOIN LATERAL (
            SELECT n.id, n.rank FROM remloom.names n WHERE n.tenant_id = p_tenant AND n.key = k.key OFFSET 0) n
        CROSS JOIN LATERAL (
            SELECT r.* FROM remloom.records r WHERE r.tenant_id = p_tenant AND r.id = n.id OFFSET 0) r
        ORDER BY k.place, n.rank, r.seq;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT k.key, r.schema, r.body, r.content, g.paths
    FROM unnest(p_keys) WITH ORDINALITY k (key, place)
    CROSS JOIN LATERAL (
        SELECT n.id, n.rank, n.kin FROM remloom.names n WHERE n.tenant_id = p_tenant AND n.key = k.key OFFSET 0) n
    CROSS JOIN LATERAL (
        SELECT r.* FROM remloom.records r WHERE r.tenant_id = p_tenant AND r.id = n.id OFFSET 0) r
    LEFT JOIN LATERAL (
        SELECT json_agg(json_build_array(o.src, o.rel, o.dst, o.weight, o.created, o.valid_from, o.valid_to, o.properties)) AS paths
        FROM (
            SELECT f.* FROM (
                SELECT k.key UNION ALL
                SELECT m.key FROM remloom.names m
                WHERE n.kin AND m.tenant_id = p_tenant AND m.id = n.id AND m.kin AND m.key <> k.key
            ) m (key)
            CROSS JOIN LATERAL (
                SELECT e.* FROM remloom.edges e
                WHERE e.tenant_id = p_tenant AND e.src = m.key AND remloom.in_force(e, p_at, p_past)
                ORDER BY e.created DESC LIMIT p_edges
            ) f
            ORDER BY f.created DESC LIMIT p_edges
        ) o
    ) g ON true
    ORDER BY k.place, n.rank, r.seq;
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
    WHERE EXISTS (SELECT FROM remloom.names n WHERE n.tenant_id = p_tenant AND n.key = s.key OFFSET 0)
      AND (plain OR NOT EXISTS (  -- another key of a start before it
          SELECT FROM unnest(p_starts) WITH ORDINALITY t (key, place)
          CROSS JOIN LATERAL (SELECT a.id FROM remloom.names a
              WHERE a.tenant_id = p_tenant AND a.key = t.key AND a.kin OFFSET 0) a
          CROSS JOIN LATERAL (SELECT FROM remloom.names b
              WHERE b.tenant_id = p_tenant AND b.id = a.id AND b.key = s.key AND b.kin OFFSET 0) b
          WHERE t.place < s.place));
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
        IF plain AND p_out THEN
            -- In arrays, in the order the edges come in, each key by the first edge that reached it.
            SELECT array_agg(x.other), array_agg(behind + f.place::integer), array_agg(x.val), count(*)
            INTO fresh, from_nodes, fresh_vals, passed
            FROM unnest(frontier) WITH ORDINALITY f (key, place) CROSS JOIN LATERAL (
                SELECT e.dst AS other, e.%4$s AS val FROM remloom.edges e
                WHERE e.tenant_id = p_tenant AND e.src = f.key AND remloom.in_force(e, p_at, p_past)
                  AND (p_rels IS NULL OR e.rel = ANY (p_rels))
                ORDER BY e.%4$s %5$s LIMIT p_breadth) x;
            SELECT array_agg(a.key), array_agg(from_nodes[a.n]), array_agg(fresh_vals[a.n])
            INTO fresh, from_nodes, fresh_vals FROM (
                SELECT u.key, min(u.n) AS n FROM unnest(fresh) WITH ORDINALITY u (key, n)
                WHERE u.key NOT IN (SELECT unnest(visited)) GROUP BY u.key ORDER BY 2) a;
            asked_keys := asked_keys || frontier;
            asked_sides := asked_sides || array_fill(0, ARRAY[cardinality(frontier)]);
        ELSIF plain THEN
            -- In arrays, in the order the edges come in, each key by the first edge that reached it.
            SELECT array_agg(x.other), array_agg(behind + f.place::integer), array_agg(x.val), count(*)
            INTO fresh, from_nodes, fresh_vals, passed
            FROM unnest(frontier) WITH ORDINALITY f (key, place) CROSS JOIN LATERAL (
                SELECT e.src AS other, e.%6$s AS val FROM remloom.edges e
                WHERE e.tenant_id = p_tenant AND e.dst = f.key AND remloom.in_force(e, p_at, p_past)
                  AND (p_rels IS NULL OR e.rel = ANY (p_rels))
                ORDER BY e.%6$s %5$s LIMIT p_breadth) x;
            SELECT array_agg(a.key), array_agg(from_nodes[a.n]), array_agg(fresh_vals[a.n])
            INTO fresh, from_nodes, fresh_vals FROM (
                SELECT u.key, min(u.n) AS n FROM unnest(fresh) WITH ORDINALITY u (key, n)
                WHERE u.key NOT IN (SELECT unnest(visited)) GROUP BY u.key ORDER BY 2) a;
            asked_keys := asked_keys || frontier;
            asked_sides := asked_sides || array_fill(1, ARRAY[cardinality(frontier)]);
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
    reached := cardinality(keys) - starts;
    IF p_breadth IS NULL THEN
        unfollowed := 0;
    ELSIF p_past OR EXISTS (SELECT FROM remloom.edges e WHERE e.tenant_id = p_tenant
                         AND (e.valid_from IS NOT NULL OR e.valid_to IS NOT NULL)) THEN
        unfollowed := unfollowed + coalesce((
            SELECT sum(remloom.degree(p_tenant, f.key, f.side, p_rels, p_at, p_past))
            FROM unnest(asked_keys, asked_sides) f (key, side)), 0);
    ELSIF p_rels IS NULL THEN
        unfollowed := unfollowed + coalesce((
            SELECT sum(d.edges) FROM unnest(asked_keys, asked_sides) f (key, side) CROSS JOIN LATERAL (
                SELECT d.edges FROM remloom.degrees d
                WHERE d.tenant_id = p_tenant AND d.key = f.key AND d.side = f.side AND d.rel = '' OFFSET 0) d), 0);
    ELSE
        unfollowed := unfollowed + coalesce((
            SELECT sum(d.edges) FROM unnest(asked_keys, asked_sides) f (key, side) CROSS JOIN LATERAL (
                SELECT d.edges FROM remloom.degrees d WHERE d.tenant_id = p_tenant AND d.key = f.key AND d.side = f.side
                  AND d.rel = ANY (p_rels) OFFSET 0) d), 0);
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
                CASE WHEN field = 'dst' THEN 'src' ELSE field END);
        END LOOP;
    END LOOP;
END $$;
