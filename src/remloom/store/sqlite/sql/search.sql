-- name: records_of_labels
-- The records of the labels that the index of names found, by the position of the hit.
SELECT h.key, n.rank, r.rid, r.schema, r.body, r.content
FROM json_each(:label_nos) h CROSS JOIN names n ON n.lid = h.value CROSS JOIN records r ON r.rid = n.rid;

-- name: records_of_labels_and_type
-- The same, of one type and those below it, or of one schema.
SELECT h.key, n.rank, r.rid, r.schema, r.body, r.content
FROM json_each(:label_nos) h CROSS JOIN names n ON n.lid = h.value CROSS JOIN records r ON r.rid = n.rid
WHERE r.type = :type OR r.schema = :type OR substr(r.type, 1, length(:type) + 1) = :type || '/';

-- name: label_has_record
-- Whether a label is that of a record that has not expired, of one type or one below it, or of one schema.
SELECT EXISTS (
  SELECT 1 FROM names n CROSS JOIN records r ON r.rid = n.rid
  WHERE n.lid = :label_no AND (r.expires IS NULL OR r.expires > :now)
    AND (:type IS NULL OR r.type = :type OR r.schema = :type OR substr(r.type, 1, length(:type) + 1) = :type || '/')
);

-- name: records_of_texts
-- The records whose texts an index found and that pass a filter, best first, and whether their content is apart.
SELECT h.key, 0, 0, r.rid, r.schema, r.body, r.content IS NOT NULL
FROM json_each(?) h CROSS JOIN records r ON r.doc = h.value {filter};

-- name: records_of_vectors
-- The same of windows, of which many may be of one long text: its content is not read with each.
SELECT h.key, v.first, v.last, r.rid, r.schema, r.body, r.content IS NOT NULL
FROM json_each(?) h CROSS JOIN vectors v INDEXED BY vectors_place ON v.vid = h.value
CROSS JOIN records r ON r.rid = v.rid {filter};

-- name: contents
-- The contents of these records.
SELECT r.rid, r.content FROM json_each(?) l CROSS JOIN records r ON r.rid = l.value;

-- name: allowed_texts
-- The numbers of all texts whose records pass a filter: it looks at every one.
SELECT r.doc FROM records r WHERE r.doc IS NOT NULL AND {filter};

-- name: allowed_vectors
-- The numbers of all windows whose records pass a filter; a record is looked at once. Full scan.
SELECT v.vid FROM records r CROSS JOIN vectors v INDEXED BY vectors_rid ON v.rid = r.rid WHERE {filter};
