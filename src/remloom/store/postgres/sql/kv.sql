-- name: kv_get
-- One entry.
SELECT kind, id, data, subjects, version FROM remloom.journal
WHERE tenant_id = %(tenant)s AND kind = %(namespace)s AND id = %(key)s;

-- name: kv_list
-- The entries of a namespace whose keys are in a range, in the order of their keys.
SELECT kind, id, data, subjects, version FROM remloom.journal
WHERE tenant_id = %(tenant)s AND kind = %(namespace)s AND id >= %(first)s AND id <= %(last)s AND id > %(after)s
ORDER BY id LIMIT %(limit)s;

-- name: kv_list_newest_first
-- The entries of a namespace whose keys are in a range, the last keys first.
SELECT kind, id, data, subjects, version FROM remloom.journal
WHERE tenant_id = %(tenant)s AND kind = %(namespace)s AND id >= %(first)s AND id <= %(last)s AND id < %(after)s
ORDER BY id DESC LIMIT %(limit)s;

-- name: kv_about
-- The entries of a namespace that refer to some records or refs, in the order of their keys.
SELECT j.kind, j.id, j.data, j.subjects, j.version FROM remloom.journal j
WHERE j.tenant_id = %(tenant)s AND j.kind = %(namespace)s AND j.id IN (
  SELECT s.id FROM remloom.journal_subjects s
  WHERE s.tenant_id = %(tenant)s AND s.subject = ANY (%(refs)s) AND s.kind = %(namespace)s
) ORDER BY j.id;

-- name: kv_count
-- How many entries of a namespace have keys in a range.
SELECT count(*) FROM remloom.journal
WHERE tenant_id = %(tenant)s AND kind = %(namespace)s AND id >= %(first)s AND id <= %(last)s;

-- name: kv_version
-- The version of an entry.
SELECT version FROM remloom.journal WHERE tenant_id = %(tenant)s AND kind = %(namespace)s AND id = %(key)s;

-- name: kv_put
-- Write an entry, as its next version.
INSERT INTO remloom.journal AS j (tenant_id, kind, id, version, subjects, data)
VALUES (%(tenant)s, %(namespace)s, %(key)s, 1, %(refs)s::text[], %(value)b)
ON CONFLICT (tenant_id, kind, id)
DO UPDATE SET version = j.version + 1, subjects = excluded.subjects, data = excluded.data;

-- name: kv_put_many
-- Write entries, as their next versions. `nth` says for each ref which entry it is of, from 1.
INSERT INTO remloom.journal AS j (tenant_id, kind, id, version, subjects, data)
SELECT %(tenant)s, n.kind, n.id, 1, s.subjects, n.data
FROM unnest(%(namespace)b::text[], %(key)b::text[], %(value)b::bytea[]) WITH ORDINALITY n (kind, id, data, nth)
JOIN (
  SELECT nth, array_agg(subject) AS subjects FROM unnest(%(nth)b::integer[], %(ref)b::text[]) r (nth, subject) GROUP BY nth
) s USING (nth)
ON CONFLICT (tenant_id, kind, id)
DO UPDATE SET version = j.version + 1, subjects = excluded.subjects, data = excluded.data;

-- name: kv_delete
-- Delete an entry.
DELETE FROM remloom.journal WHERE tenant_id = %(tenant)s AND kind = %(namespace)s AND id = %(key)s;

-- name: kv_delete_refs
-- Forget which records an entry refers to.
DELETE FROM remloom.journal_subjects WHERE tenant_id = %(tenant)s AND kind = %(namespace)s AND id = %(key)s;

-- name: kv_put_refs
-- Remember which records an entry refers to.
INSERT INTO remloom.journal_subjects
SELECT %(tenant)s, subject, %(namespace)s, %(key)s FROM unnest(%(refs)b::text[]) s (subject)
ON CONFLICT DO NOTHING;

-- name: kv_put_refs_of_many
-- Remember which records some entries refer to.
INSERT INTO remloom.journal_subjects
SELECT %(tenant)s, r.subject, n.kind, n.id
FROM unnest(%(namespace)b::text[], %(key)b::text[]) WITH ORDINALITY n (kind, id, nth)
JOIN unnest(%(nth)b::integer[], %(ref)b::text[]) r (nth, subject) USING (nth)
ON CONFLICT DO NOTHING;

-- name: kv_last_of_prefixes
-- The entry with the last key that begins with each of some prefixes.
SELECT p.prefix, j.id, j.data
FROM unnest(%(prefixes)b::text[]) p (prefix) CROSS JOIN LATERAL (
  SELECT id, data FROM remloom.journal j
  WHERE j.tenant_id = %(tenant)s AND j.kind = %(namespace)s AND j.id >= p.prefix AND j.id <= p.prefix || %(top)s
  ORDER BY j.id DESC LIMIT 1
) j;

-- name: kv_first_of_prefixes
-- The key that is first of those that begin with each of some prefixes.
SELECT j.id
FROM unnest(%(prefixes)b::text[]) p (prefix) CROSS JOIN LATERAL (
  SELECT id FROM remloom.journal j
  WHERE j.tenant_id = %(tenant)s AND j.kind = %(namespace)s AND j.id >= p.prefix AND j.id <= p.prefix || %(top)s
  ORDER BY j.id LIMIT 1
) j;

-- name: kv_delete_about
-- Delete the entries that refer to some records.
DELETE FROM remloom.journal j USING remloom.journal_subjects s
WHERE s.tenant_id = %(tenant)s AND s.subject = ANY (%(ids)b::text[])
  AND j.tenant_id = s.tenant_id AND j.kind = s.kind AND j.id = s.id;
