-- What a record says, and what a parent said when a child was made of it (see `model.premises.says`). NULL: from before that was kept;
-- of what a moment refers to also: it was not made of it.
ALTER TABLE records ADD COLUMN says INTEGER;
ALTER TABLE parents ADD COLUMN digest INTEGER;
