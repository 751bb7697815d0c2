-- The models that made token vectors. Every text whose number is not above `upto` has them, failed, or has expired.
CREATE TABLE token_models (
    model INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dims INTEGER NOT NULL, upto INTEGER NOT NULL
);
-- The token vectors of a text: int8, token by token; empty when it has no tokens.
CREATE TABLE token_vectors (rid INTEGER NOT NULL, model INTEGER NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX token_vectors_model ON token_vectors (model, rid);
-- Texts whose token vectors could not be made; a model that made none yet has no number.
CREATE TABLE token_failures (
    model TEXT NOT NULL, rid INTEGER NOT NULL, attempts INTEGER NOT NULL, error TEXT NOT NULL, parked INTEGER NOT NULL,
    PRIMARY KEY (model, rid)
) WITHOUT ROWID;
CREATE INDEX token_failures_rid ON token_failures (rid);
