-- name: numbers
-- The highest numbers given out: of records, labels, vectors, texts and tombstones, the highest revision, and whether some
-- record rests on what is no record.
SELECT rid, lid, vid, doc, dead, revision, EXISTS (SELECT 1 FROM journal WHERE kind = 'premise') FROM sequence;

-- name: store_numbers
-- Stores the highest numbers given out.
UPDATE sequence
SET rid = :record_no, lid = :label_no, vid = :vector_no, doc = :text_no, dead = :tombstone_no, revision = :revision;

-- name: stored_record
-- A record by its id, with the number of its text.
SELECT r.rid, r.schema, r.body, r.content, r.doc FROM records r WHERE r.id = :id;

-- name: stored_ids
-- Which of some ids are those of records.
SELECT id FROM records WHERE id IN (SELECT value FROM json_each(?));

-- name: revisions
-- The revisions of records, of those that have not expired.
SELECT r.id, coalesce(r.body ->> '$.revision', 0) FROM json_each(:ids) i CROSS JOIN records r ON r.id = i.value
WHERE r.expires IS NULL OR r.expires > :now;

-- name: namesakes
-- The entities that a label names, or that are thin and have it: id, type, whether thin, whether it is their own, whether they
-- stand for a row by it.
SELECT r.id, r.type, r.thin, n.rank > 0 OR n.total = 1, n.handle AND r.thin IS 1 FROM names n CROSS JOIN records r ON r.rid = n.rid
WHERE n.lid = :label_no AND (n.rank = 0 OR r.thin = 1) AND r.schema = 'entities' ORDER BY r.rid;

-- name: same_handle
-- Another row of a schema whose handle has a label.
SELECT r.body FROM names n CROSS JOIN records r ON r.rid = n.rid
WHERE n.lid = :label_no AND n.rank = 0 AND r.schema = :schema AND n.rid <> :record_no LIMIT 1;

-- name: others_named
-- The other records that had a label for their name before this batch; not those that got it just now.
SELECT n.rid FROM names n JOIN records r USING (rid)
WHERE n.lid = :label_no AND n.rank = 0 AND n.total > 0 AND n.rid <> :record_no AND n.rid <= :last_before
  AND (r.thin IS NOT 1 OR n.handle = 1);

-- name: has_handle
-- Whether a label is the handle of a record.
SELECT 1 FROM names INDEXED BY names_handle WHERE lid = :label_no AND handle = 1 LIMIT 1;

-- name: any_handle
-- Whether some label is the handle of a record.
SELECT 1 FROM names INDEXED BY names_handle WHERE lid > 0 AND handle = 1 LIMIT 1;

-- name: own_label
-- A label of a record at which edges are its own, if it has one: a certain one, if that is.
SELECT lid FROM names WHERE rid = :record_no AND total > 0 ORDER BY lid <> :label_no, rank LIMIT 1;

-- name: labels_without_handle
-- Of some labels, those that are no record's handle.
SELECT l.value FROM json_each(:label_nos) l
WHERE NOT EXISTS (SELECT 1 FROM names n INDEXED BY names_handle WHERE n.lid = l.value AND n.handle = 1);

-- name: make_handle
-- Makes a label the handle of the thin entity that stands for it.
UPDATE names SET handle = 1
WHERE lid = :label_no AND (rank > 0 OR total = 1)
  AND EXISTS (SELECT 1 FROM records r WHERE r.rid = names.rid AND r.thin = 1)
RETURNING rid;

-- name: yield_handles
-- Takes labels that are the handles of rows from entities that had them for theirs.
UPDATE names SET handle = 0
WHERE lid IN (SELECT value FROM json_each(:label_nos)) AND handle = 1
  AND EXISTS (SELECT 1 FROM records r WHERE r.rid = names.rid AND r.schema = 'entities')
RETURNING lid, rid;

-- name: hide_names
-- Notes of labels that are handles that the other records which they name do not have their edges.
UPDATE names SET total = 0
WHERE lid IN (SELECT value FROM json_each(:label_nos)) AND handle = 0 AND total > 0
RETURNING lid, rid;

-- name: other_label
-- If a record is an entity, a label at which edges are its own; NULL if none is.
SELECT (SELECT n.lid FROM names n WHERE n.rid = r.rid AND n.total > 0 ORDER BY n.rank LIMIT 1)
FROM records r WHERE r.rid = :record_no AND r.schema = 'entities' AND r.thin IS NOT 1;

-- name: hide_name
-- Notes the same of one record, if the label is a handle.
UPDATE names SET total = 0
WHERE lid = :label_no AND rid = :record_no AND handle = 0
  AND EXISTS (SELECT 1 FROM names h INDEXED BY names_handle WHERE h.lid = names.lid AND h.handle = 1);

-- name: show_names
-- Gives the records that a label names its edges, if it is no handle any more.
UPDATE names SET total = (SELECT count(*) FROM names o WHERE o.rid = names.rid)
WHERE lid = :label_no AND total = 0
  AND NOT EXISTS (SELECT 1 FROM names h INDEXED BY names_handle WHERE h.lid = names.lid AND h.handle = 1);

-- name: placeholders
-- The other, thin entities whose handle a label is.
SELECT r.rid FROM names n INDEXED BY names_handle CROSS JOIN records r ON r.rid = n.rid
WHERE n.lid = :label_no AND n.handle = 1 AND r.thin = 1 AND r.rid <> :record_no;

-- name: add_record
-- Stores a record.
INSERT INTO records (rid, id, schema, type, thin, starts, ends, created, updated, doc, body, content, expires, says)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: expired_among
-- The records that have expired and have one of some ids, or one of some keys.
SELECT r.id FROM json_each(:ids) i CROSS JOIN records r ON r.id = i.value WHERE r.expires <= :now
UNION
SELECT r.id FROM json_each(:keys) k CROSS JOIN labels l ON l.key = k.value
CROSS JOIN names n ON n.lid = l.lid CROSS JOIN records r ON r.rid = n.rid WHERE r.expires <= :at;

-- name: expiring
-- The records of some ids that have not expired.
SELECT r.rid, r.schema, r.body FROM json_each(:ids) i CROSS JOIN records r ON r.id = i.value
WHERE r.expires IS NULL OR r.expires > :now;

-- name: set_expiry
-- Stores when a record expires.
UPDATE records SET expires = :expires, body = :body WHERE rid = :record_no;

-- name: add_label
-- Stores a label that no edge leaves yet.
INSERT INTO labels (lid, key, linked) VALUES (?, ?, 0);

-- name: add_name
-- Gives a record a label.
INSERT OR IGNORE INTO names (lid, rid, rank, total, handle) VALUES (?, ?, ?, ?, ?);

-- name: add_vector
-- Stores a window of a record.
INSERT INTO vectors (vid, rid, model, first, last, hash, data) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: queue_text
-- Queues the text of a record for its vectors.
INSERT OR REPLACE INTO pending (rid, attempts, error, parked) VALUES (?, 0, NULL, 0);

-- name: add_parent
-- Says that a record was derived from another (kind 0) or refers to it (1), if that is stored, and what that said.
INSERT INTO parents (child, parent, kind, digest)
SELECT ?, rid, ?, coalesce(?, iif(?, coalesce(says, said(schema, body, content)), NULL)) FROM records WHERE id = ?
ON CONFLICT (child, parent) DO UPDATE SET digest = excluded.digest WHERE digest IS NOT excluded.digest;

-- name: add_new_parent
-- The same of a record that is new.
INSERT INTO parents (child, parent, kind, digest)
SELECT ?, rid, ?, coalesce(?, iif(?, coalesce(says, said(schema, body, content)), NULL)) FROM records WHERE id = ?;

-- name: made_of
-- What a record was derived from.
SELECT r.id FROM parents p JOIN records r ON r.rid = p.parent WHERE p.child = ? AND p.kind = 0;

-- name: count_stored
-- How many of some ids are those of records.
SELECT count(*) FROM records WHERE id IN (SELECT value FROM json_each(?));

-- name: delete_parents
-- Forget what a record refers to, and what it was derived from, but for the kind that is kept.
DELETE FROM parents WHERE child = :record_no AND kind IS NOT :kept;

-- name: add_edge
-- Stores an edge, or merges it into the one of its ends and type as `merge_edge` does.
INSERT INTO edges (src, rel, dst, weight, created, valid_from, valid_to, properties) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (src, rel, dst) DO UPDATE SET
  weight = max(weight, excluded.weight),
  created = min(created, excluded.created),
  valid_from = coalesce(min(valid_from, excluded.valid_from), valid_from, excluded.valid_from),
  valid_to = CASE WHEN excluded.valid_to IS NOT NULL THEN excluded.valid_to
                  WHEN excluded.valid_from > valid_to THEN NULL ELSE valid_to END,
  properties = merge_properties(properties, excluded.properties);

-- name: mark_linked
-- Notes that an edge leaves a label.
UPDATE labels SET linked = 1 WHERE lid = ? AND linked = 0;

-- name: take_edges
-- Removes every edge at some labels, and returns them whole.
DELETE FROM edges
WHERE src IN (SELECT value FROM json_each(:label_nos)) OR dst IN (SELECT value FROM json_each(:label_nos))
RETURNING src, rel, dst, weight, created, valid_from, valid_to, properties;

-- name: delete_edge
-- Removes an edge by its keys, and returns its ends.
DELETE FROM edges
WHERE src = (SELECT lid FROM labels WHERE key = :src) AND rel = (SELECT rel FROM rels WHERE name = :rel_type)
  AND dst = (SELECT lid FROM labels WHERE key = :dst)
RETURNING src, dst;

-- name: neighbour_labels
-- The labels at the far ends of the edges of a label.
SELECT dst FROM edges WHERE src = :label_no UNION SELECT src FROM edges WHERE dst = :label_no;

-- name: has_edges
-- Whether there is an edge at a label.
SELECT 1 FROM edges WHERE src = :label_no UNION ALL SELECT 1 FROM edges WHERE dst = :label_no LIMIT 1;

-- name: thin_owners
-- The other, thin entities whose own label this is: none where a real record has it.
SELECT r.rid FROM (
  SELECT 1 WHERE NOT EXISTS (
    SELECT 1 FROM names o CROSS JOIN records p ON p.rid = o.rid
    WHERE o.lid = :label_no AND p.thin IS NOT 1 AND p.rid <> :record_no
  )
) CROSS JOIN names n CROSS JOIN records r ON r.rid = n.rid
WHERE n.lid = :label_no AND n.handle = 0 AND r.thin = 1 AND r.rid <> :record_no AND (n.rank > 0 OR n.total = 1);

-- name: thin_without_edges
-- The thin entities at a label that no edge is left to.
SELECT r.rid FROM names n JOIN records r USING (rid)
WHERE n.lid = :label_no AND r.thin = 1 AND NOT EXISTS (
  SELECT 1 FROM names o
  WHERE o.rid = r.rid AND (EXISTS (SELECT 1 FROM edges WHERE src = o.lid) OR EXISTS (SELECT 1 FROM edges WHERE dst = o.lid))
    -- Else it only shows the label, and the edges are another's.
    AND (o.rank > 0 OR o.total = 1 OR NOT EXISTS (SELECT 1 FROM names p WHERE p.lid = o.lid AND p.rid <> o.rid))
);

-- name: is_owned
-- Whether some record has a label for its own: NULL when none has it at all.
SELECT CASE
  WHEN EXISTS (
    SELECT 1 FROM names n JOIN records r USING (rid)
    WHERE n.lid = :label_no AND (r.thin IS NOT 1 OR n.rank > 0 OR n.total = 1)
  ) THEN 1
  WHEN EXISTS (SELECT 1 FROM names WHERE lid = :label_no) THEN 0
END;

-- name: children_nos
-- The records derived from a record, with their ids.
SELECT r.rid, r.id FROM parents p JOIN records r ON r.rid = p.child WHERE p.parent = :record_no AND p.kind = 0;

-- name: referring_nos
-- The moments that refer to a record, by number.
SELECT child FROM parents WHERE parent = :record_no AND kind = 1;

-- name: resting_on
-- What rests on some records, and these: what was derived from them, and moments that were made of them.
SELECT c.id, p.kind, p.digest, r.schema, r.body, r.content
FROM json_each(:ids) i CROSS JOIN records r ON r.id = i.value
CROSS JOIN parents p ON p.parent = r.rid CROSS JOIN records c ON c.rid = p.child
WHERE p.kind = 0 OR p.digest IS NOT NULL OR c.body ->> '$.metadata.made_by' IS NOT NULL;

-- name: rested_on
-- Of records with some ids or keys, those that something rests on; and a row without an id where something rests on what is no
-- record.
SELECT r.id, r.says, r.expires FROM json_each(:ids) i CROSS JOIN records r ON r.id = i.value
WHERE EXISTS (SELECT 1 FROM parents p WHERE p.parent = r.rid AND (p.kind = 0 OR p.digest IS NOT NULL))
UNION
SELECT r.id, r.says, r.expires
FROM json_each(:keys) k CROSS JOIN labels l ON l.key = k.value CROSS JOIN names n ON n.lid = l.lid CROSS JOIN records r ON r.rid = n.rid
WHERE EXISTS (SELECT 1 FROM parents p WHERE p.parent = n.rid AND (p.kind = 0 OR p.digest IS NOT NULL))
UNION ALL
SELECT '', NULL, NULL WHERE EXISTS (SELECT 1 FROM journal WHERE kind = 'premise');

-- name: record_by_id
-- The number of a record, and what is stored of it.
SELECT rid, schema, body, content FROM records WHERE id = :id;

-- name: body_by_no
-- What is stored of a record.
SELECT schema, body, content FROM records WHERE rid = :record_no;

-- name: outdated_snapshots
-- The snapshots of indexes that hold what was deleted since.
SELECT DISTINCT s.kind FROM snapshots s
WHERE EXISTS (SELECT 1 FROM dead d WHERE d.seq > s.dead AND d.kind = s.kind);

-- name: delete_outdated_snapshots
-- Removes the snapshots of indexes that hold what was deleted since.
DELETE FROM snapshots AS s WHERE EXISTS (SELECT 1 FROM dead d WHERE d.seq > s.dead AND d.kind = s.kind);

-- name: queue_without_vectors
-- Queues every text that has no vectors: it reads the numbers of all texts.
INSERT OR IGNORE INTO pending (rid, attempts, error, parked)
SELECT r.rid, 0, NULL, 0 FROM records r
WHERE r.doc IS NOT NULL AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.rid = r.rid);
