-- name: name_runs
-- The runs of the index of names, in the order of their last names.
SELECT run, names, size FROM remloom.name_runs WHERE tenant_id = %(tenant)s ORDER BY run;

-- name: insert_name_run
-- Store a run of the index of names, but for its pages.
INSERT INTO remloom.name_runs VALUES (%(tenant)s, %(run)s, %(names)s, %(size)s);

-- name: insert_name_pages
-- Store the pages of a run, each under its first posting.
INSERT INTO remloom.name_pages
SELECT %(tenant)s, %(run)s, * FROM unnest(%(first)b::bigint[], %(data)b::bytea[]);

-- name: delete_name_runs
-- Delete runs of the index of names, but not their pages.
DELETE FROM remloom.name_runs WHERE tenant_id = %(tenant)s AND run = ANY (%(runs)b::bigint[]);

-- name: take_name_pages
-- Delete the pages of runs, and give them back.
DELETE FROM remloom.name_pages WHERE tenant_id = %(tenant)s AND run = ANY (%(runs)b::bigint[]) RETURNING run, data;

-- name: delete_all_name_runs
-- Delete every run of the index of names.
DELETE FROM remloom.name_runs WHERE tenant_id = %(tenant)s;

-- name: delete_all_name_pages
-- Delete every page of the index of names.
DELETE FROM remloom.name_pages WHERE tenant_id = %(tenant)s;

-- name: name_numbers
-- Which numbers of a range are of names that are there.
SELECT array_agg(number) FROM remloom.names
WHERE tenant_id = %(tenant)s AND number BETWEEN %(first)s AND %(last)s;

-- name: names_behind
-- The names behind a number, in the order of their numbers.
SELECT number, coalesce(label, key) FROM remloom.names
WHERE tenant_id = %(tenant)s AND number > %(number)s ORDER BY number LIMIT %(limit)s;

-- name: sealed_names
-- Every name that is to be in a run.
SELECT n.number, coalesce(n.label, n.key)
FROM remloom.tenants t JOIN remloom.names n ON n.tenant_id = t.tenant_id AND n.number <= t.sealed
WHERE t.tenant_id = %(tenant)s;

-- name: all_name_pages
-- Every page of the index of names.
SELECT run, data FROM remloom.name_pages WHERE tenant_id = %(tenant)s;

-- name: pages_of_ranges
-- The pages that may have the postings of some ranges, of every run.
SELECT g.position - 1, r.run, p.data
FROM remloom.name_runs r CROSS JOIN unnest(%(low)b::bigint[], %(high)b::bigint[]) WITH ORDINALITY g (low, high, position)
-- A page is known by its first posting, so the range may begin in the page before.
CROSS JOIN LATERAL (
  SELECT coalesce(max(p.first), 0) AS first FROM remloom.name_pages p
  WHERE p.tenant_id = %(tenant)s AND p.run = r.run AND p.first <= g.low
) s
CROSS JOIN LATERAL (
  SELECT p.data FROM remloom.name_pages p
  WHERE p.tenant_id = %(tenant)s AND p.run = r.run AND p.first >= s.first AND p.first < g.high
  ORDER BY p.first LIMIT %(pages)s
) p
WHERE r.tenant_id = %(tenant)s;

-- name: tail_names
-- The names that are in no run yet.
SELECT array_agg(coalesce(n.label, n.key)) FROM remloom.names n
WHERE n.tenant_id = %(tenant)s
  AND n.number > (SELECT t.sealed FROM remloom.tenants t WHERE t.tenant_id = %(tenant)s);

-- name: tail_names_of_type
-- The names that are in no run yet, of records of a type or schema.
SELECT array_agg(coalesce(n.label, n.key))
FROM remloom.names n CROSS JOIN LATERAL (
  SELECT FROM remloom.records r
  WHERE r.tenant_id = %(tenant)s AND r.id = n.id
    AND (r.type = %(type)s OR r.schema = %(type)s OR starts_with(r.type, %(type)s || '/')) OFFSET 0
) r
WHERE n.tenant_id = %(tenant)s
  AND n.number > (SELECT t.sealed FROM remloom.tenants t WHERE t.tenant_id = %(tenant)s);

-- name: names_by_number
-- The names that have some numbers.
SELECT n.number, coalesce(n.label, n.key) FROM remloom.names n
WHERE n.tenant_id = %(tenant)s AND n.number = ANY (%(numbers)b::bigint[]);

-- name: names_by_number_of_type
-- The names that have some numbers, of records of a type or schema.
SELECT n.number, coalesce(n.label, n.key)
FROM remloom.names n CROSS JOIN LATERAL (
  SELECT FROM remloom.records r
  WHERE r.tenant_id = %(tenant)s AND r.id = n.id
    AND (r.type = %(type)s OR r.schema = %(type)s OR starts_with(r.type, %(type)s || '/')) OFFSET 0
) r
WHERE n.tenant_id = %(tenant)s AND n.number = ANY (%(numbers)b::bigint[]);

-- name: records_named
-- The records that have some keys, with the whole key of each.
SELECT n.key, coalesce(n.label, n.key), r.id, r.schema, r.body, r.content
FROM remloom.names n JOIN remloom.records r ON r.tenant_id = n.tenant_id AND r.id = n.id
WHERE n.tenant_id = %(tenant)s AND n.key = ANY (%(keys)s) ORDER BY n.rank, r.seq;

-- name: records_named_of_type
-- The records of a type or schema that have some keys, with the whole key of each.
SELECT n.key, coalesce(n.label, n.key), r.id, r.schema, r.body, r.content
FROM remloom.names n JOIN remloom.records r ON r.tenant_id = n.tenant_id AND r.id = n.id
WHERE n.tenant_id = %(tenant)s AND n.key = ANY (%(keys)s)
  AND (r.type = %(type)s OR r.schema = %(type)s OR starts_with(r.type, %(type)s || '/'))
ORDER BY n.rank, r.seq;
