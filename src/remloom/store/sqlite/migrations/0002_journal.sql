-- What is kept beside the records: see `remloom.kv`. `subjects` is a JSON list of record ids, kept in their order; the
-- table of them finds the entries that go with a record.
CREATE TABLE journal (
    entry    INTEGER PRIMARY KEY,
    kind     TEXT NOT NULL,
    id       TEXT NOT NULL,
    version  INTEGER NOT NULL,
    subjects TEXT,
    data     BLOB NOT NULL
);
CREATE UNIQUE INDEX journal_key ON journal (kind, id);
CREATE TABLE journal_subjects (
    subject TEXT NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (subject, entry)
) WITHOUT ROWID;
CREATE INDEX journal_subjects_entry ON journal_subjects (entry);
CREATE TRIGGER journal_struck AFTER DELETE ON journal BEGIN
    DELETE FROM journal_subjects WHERE entry = old.entry;
END;
