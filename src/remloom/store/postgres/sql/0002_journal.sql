-- What is kept beside the records: see `remloom.journal`. The table of subjects finds the entries that go with a record.
CREATE TABLE remloom.journal (
    tenant_id text COLLATE "C" NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    id        text COLLATE "C" NOT NULL,
    version   bigint NOT NULL,
    subjects  text[] COLLATE "C" NOT NULL,
    data      bytea NOT NULL,
    PRIMARY KEY (tenant_id, kind, id)
);
CREATE TABLE remloom.journal_subjects (
    tenant_id text COLLATE "C" NOT NULL,
    subject   text COLLATE "C" NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    id        text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, kind, id, subject),
    FOREIGN KEY (tenant_id, kind, id) REFERENCES remloom.journal ON DELETE CASCADE
);
CREATE INDEX journal_subjects_subject ON remloom.journal_subjects (tenant_id, subject);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['journal', 'journal_subjects'] LOOP
        EXECUTE format('ALTER TABLE remloom.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY own ON remloom.%I TO remloom_tenant'
                       ' USING (tenant_id = current_setting(''remloom.tenant'', true))', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON remloom.%I TO remloom_tenant', name);
        EXECUTE format('ALTER TABLE remloom.%I FORCE ROW LEVEL SECURITY', name);
    END LOOP;
END $$;
