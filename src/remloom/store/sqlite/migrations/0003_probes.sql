-- What a search or a walk asks of thousands of rows, where the answer is small enough to stay in the cache.

-- Whose window a vector is, without the pages that hold its numbers.
CREATE INDEX vectors_place ON vectors (vid, rid, first, last);
-- The labels of records that have several.
CREATE INDEX names_aliased ON names (lid) WHERE total > 1;
