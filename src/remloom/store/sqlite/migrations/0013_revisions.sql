-- The highest revision given to a record (see `encoding.next_revision`); a record from before has none.
ALTER TABLE sequence ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
