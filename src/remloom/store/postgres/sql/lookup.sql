-- name: lookup
-- The records that have keys.
SELECT n.key, r.schema, r.body, r.content, NULL AS paths, n.kin
FROM {names} JOIN remloom.records r ON r.tenant_id = t.tenant AND r.id = n.id
WHERE n.tenant_id = t.tenant AND n.key = ANY (%(keys)b::text[]) ORDER BY n.rank, r.seq;

-- name: lookup_with_edges
-- The records that have keys, with the newest edges that leave each key, and whether a record has other keys.
SELECT n.key, r.schema, r.body, r.content, (
  SELECT json_agg(json_build_array(e.src, e.rel, e.dst, e.weight, e.created, e.valid_from, e.valid_to, e.properties))
  FROM (
    SELECT e.* FROM remloom.edges e
    WHERE e.tenant_id = t.tenant AND e.src = n.key AND remloom.in_force(e, %(at)s, %(past)s)
    ORDER BY e.created DESC, e.dst, e.rel LIMIT %(limit)s
  ) e
) AS paths, n.kin
FROM {names} JOIN remloom.records r ON r.tenant_id = t.tenant AND r.id = n.id
WHERE n.tenant_id = t.tenant AND n.key = ANY (%(keys)b::text[]) ORDER BY n.rank, r.seq;

-- name: lookup_aliased_with_edges
-- The records that have keys, with the newest edges that leave any key of each.
SELECT n.key, r.schema, r.body, r.content, (
  SELECT json_agg(json_build_array(e.src, e.rel, e.dst, e.weight, e.created, e.valid_from, e.valid_to, e.properties))
  FROM (
    SELECT e.* FROM (
      SELECT e.* FROM remloom.edges e
      WHERE e.tenant_id = t.tenant AND e.src = n.key AND remloom.in_force(e, %(at)s, %(past)s)
      ORDER BY e.created DESC, e.dst, e.rel LIMIT %(limit)s
    ) e
    WHERE NOT n.kin
    UNION ALL (
      SELECT e.* FROM (
        SELECT b.key FROM remloom.names b WHERE b.tenant_id = t.tenant AND b.id = n.id AND b.kin OFFSET 0
      ) k CROSS JOIN LATERAL (
        SELECT e.* FROM remloom.edges e
        WHERE e.tenant_id = t.tenant AND e.src = k.key AND remloom.in_force(e, %(at)s, %(past)s)
        ORDER BY e.created DESC, e.dst, e.rel LIMIT %(limit)s
      ) e
      WHERE n.kin IS NOT FALSE
      ORDER BY e.created DESC, e.dst, e.rel, e.src LIMIT %(limit)s
    )
  ) e
) AS paths, n.kin
FROM {names} JOIN remloom.records r ON r.tenant_id = t.tenant AND r.id = n.id
WHERE n.tenant_id = t.tenant AND n.key = ANY (%(keys)b::text[]) ORDER BY n.rank, r.seq;
