-- What a record says, and what a parent said when a child was made of it (see `model.premises.says`). NULL: from before that was kept;
-- of what a moment refers to also: it was not made of it.
ALTER TABLE remloom.records ADD COLUMN IF NOT EXISTS says bigint;
ALTER TABLE remloom.parents ADD COLUMN IF NOT EXISTS digest bigint;

-- The views have the columns that the table had when they were made.
CREATE OR REPLACE VIEW remloom.own_records AS SELECT * FROM remloom.records
    WHERE tenant_id = (SELECT current_setting('remloom.tenant', true));
CREATE OR REPLACE VIEW remloom.read_records AS SELECT * FROM remloom.records WHERE tenant_id = (SELECT remloom.reading());
