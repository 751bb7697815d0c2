-- name: put_entry
-- Stores an entry, or a new version of it.
INSERT INTO journal (kind, id, version, subjects, data) VALUES (:namespace, :key, 1, :refs, :value)
ON CONFLICT (kind, id) DO UPDATE SET version = version + 1, subjects = excluded.subjects, data = excluded.data
RETURNING entry, version;

-- name: get_entry
-- An entry by its namespace and key.
SELECT kind, id, data, coalesce(subjects, '[]'), version FROM journal WHERE kind = :namespace AND id = :key;

-- name: entry_version
-- The version of an entry.
SELECT version FROM journal WHERE kind = :namespace AND id = :key;

-- name: entries
-- The entries of a namespace whose keys are in a range, by key.
SELECT kind, id, data, coalesce(subjects, '[]'), version FROM journal
WHERE kind = :namespace AND id >= :first AND id < :end ORDER BY id {order} LIMIT :limit;

-- name: last_of_prefixes
-- The last entry of a namespace whose key begins with each of some prefixes.
SELECT p.value, j.kind, j.id, j.data, coalesce(j.subjects, '[]'), j.version
FROM json_each(:prefixes) p CROSS JOIN journal j ON j.kind = :namespace AND j.id = (
  SELECT max(k.id) FROM journal k WHERE k.kind = :namespace AND k.id >= p.value AND k.id < p.value || :last
);

-- name: entries_about
-- The entries of a namespace that have one of some refs, by key.
SELECT j.kind, j.id, j.data, coalesce(j.subjects, '[]'), j.version
FROM json_each(:refs) r CROSS JOIN journal_subjects s ON s.subject = r.value CROSS JOIN journal j ON j.entry = s.entry
WHERE j.kind = :namespace GROUP BY j.entry ORDER BY j.id;

-- name: count_entries
-- How many entries of a namespace have keys in a range.
SELECT count(*) FROM journal WHERE kind = ? AND id >= ? AND id < ?;

-- name: delete_entry
-- Deletes an entry.
DELETE FROM journal WHERE kind = ? AND id = ?;

-- name: delete_entries_about
-- Deletes the entries that have a record among their refs.
DELETE FROM journal WHERE entry IN (SELECT entry FROM journal_subjects WHERE subject = ?);
