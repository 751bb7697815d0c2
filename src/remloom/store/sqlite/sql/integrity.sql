-- name: labels_without_record
-- Labels that name no record. Full scan.
SELECT key FROM labels WHERE lid NOT IN (SELECT lid FROM names) LIMIT :limit;

-- name: names_without_label
-- Names whose label is gone. Full scan.
SELECT rid FROM names WHERE lid NOT IN (SELECT lid FROM labels) LIMIT :limit;

-- name: names_without_record
-- Names of records that are gone. Full scan.
SELECT lid FROM names WHERE rid NOT IN (SELECT rid FROM records) LIMIT :limit;

-- name: records_without_name
-- Records that have no first name. Full scan.
SELECT id FROM records WHERE rid NOT IN (SELECT rid FROM names WHERE rank = 0) LIMIT :limit;

-- name: names_of_wrong_edges
-- Records that would be taken for those whose handle a label is, or would not though it is no handle. Full scan.
SELECT l.key, r.id FROM names n JOIN labels l USING (lid) JOIN records r USING (rid)
WHERE (n.total = 0) <> (n.handle = 0 AND n.lid IN (SELECT lid FROM names WHERE handle = 1)) LIMIT :limit;

-- name: edges_from_nothing
-- Edges whose source is a label that is gone. Full scan.
SELECT src FROM edges WHERE src NOT IN (SELECT lid FROM labels) LIMIT :limit;

-- name: edges_to_nothing
-- Edges whose target is a label that is gone. Full scan.
SELECT dst FROM edges WHERE dst NOT IN (SELECT lid FROM labels) LIMIT :limit;

-- name: edges_without_type
-- Edges of a type that is not listed. Full scan.
SELECT rel FROM edges WHERE rel NOT IN (SELECT rel FROM rels) LIMIT :limit;

-- name: labels_not_marked_linked
-- Labels that edges leave, though they are marked as having none. Full scan.
SELECT lid FROM labels WHERE linked = 0 AND lid IN (SELECT src FROM edges) LIMIT :limit;

-- name: miscounted_leaving
-- Labels that more or fewer edges leave than are counted. Full scan.
SELECT src FROM edges LEFT JOIN degrees ON lid = src
GROUP BY src HAVING count(*) IS NOT max(leaves) LIMIT :limit;

-- name: miscounted_entering
-- Labels that more or fewer edges enter than are counted. Full scan.
SELECT dst FROM edges LEFT JOIN degrees ON lid = dst
GROUP BY dst HAVING count(*) IS NOT max(enters) LIMIT :limit;

-- name: miscounted_types
-- Types that more or fewer edges have than are counted. Full scan.
SELECT name FROM rels LEFT JOIN (
  SELECT rel, count(*) AS counted FROM edges GROUP BY rel
) USING (rel)
WHERE edges IS NOT counted LIMIT :limit;

-- name: vectors_without_record
-- Vectors of records that are gone. Full scan.
SELECT vid FROM vectors WHERE rid NOT IN (SELECT rid FROM records) LIMIT :limit;

-- name: pending_without_record
-- Texts in the queue whose records are gone.
SELECT rid FROM pending WHERE rid NOT IN (SELECT rid FROM records) LIMIT :limit;

-- name: children_without_record
-- Derivations whose derived record is gone. Full scan.
SELECT child FROM parents WHERE child NOT IN (SELECT rid FROM records) LIMIT :limit;

-- name: parents_without_record
-- Derivations whose parent is gone. Full scan.
SELECT parent FROM parents WHERE parent NOT IN (SELECT rid FROM records) LIMIT :limit;

-- name: derived_without_parents
-- Derived records of which nothing tells what they were derived from.
SELECT r.id FROM records r
WHERE r.schema = 'resources' AND r.body ->> '$.generation' > 0
  AND NOT EXISTS (SELECT 1 FROM parents p WHERE p.child = r.rid AND p.kind = 0)
  AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.kind = 'premise' AND j.id >= r.id || char(31) AND j.id < r.id || char(32)) LIMIT :limit;

-- name: refs_without_entry
-- Refs of entries that are gone.
SELECT subject FROM journal_subjects WHERE entry NOT IN (SELECT entry FROM journal) LIMIT :limit;

-- name: entries_without_refs
-- Entries that are not found by the records they refer to. Full scan.
SELECT j.kind, j.id FROM journal j JOIN json_each(coalesce(j.subjects, '[]')) s
LEFT JOIN journal_subjects t ON t.subject = s.value AND t.entry = j.entry
WHERE t.entry IS NULL LIMIT :limit;

-- name: record_number_not_given
-- The highest number of a record, when the sequence is behind it. Full scan.
SELECT max(rid) FROM records HAVING max(rid) > (SELECT rid FROM sequence) LIMIT :limit;

-- name: label_number_not_given
-- The highest number of a label, when the sequence is behind it. Full scan.
SELECT max(lid) FROM labels HAVING max(lid) > (SELECT lid FROM sequence) LIMIT :limit;

-- name: vector_number_not_given
-- The highest number of a vector, when the sequence is behind it. Full scan.
SELECT max(vid) FROM vectors HAVING max(vid) > (SELECT vid FROM sequence) LIMIT :limit;

-- name: text_number_not_given
-- The highest number of a text, when the sequence is behind it. Full scan.
SELECT max(doc) FROM records HAVING max(doc) > (SELECT doc FROM sequence) LIMIT :limit;

-- name: label_numbers
-- The number of every label. Full scan.
SELECT lid FROM labels;

-- name: text_numbers
-- The number of every text.
SELECT doc FROM records WHERE doc IS NOT NULL;

-- name: vector_numbers
-- The number of every vector of the current model. Full scan.
SELECT vid FROM vectors WHERE model = (SELECT model FROM models WHERE current = 1);

-- name: expiry_not_indexed
-- Records that expire at another time than the column says. Full scan.
SELECT id FROM records WHERE (expires IS NULL) <> (body ->> '$.expires_at' IS NULL) LIMIT :limit;
