-- Every transaction that was acknowledged has a number, so that one which is missing is missed: `commits` counts them,
-- `committed` is when the last one was (microseconds since 1970 UTC), `line` tells this file from its copies.
ALTER TABLE sequence ADD COLUMN line INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sequence ADD COLUMN commits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sequence ADD COLUMN committed INTEGER NOT NULL DEFAULT 0;
UPDATE sequence SET line = random() & 0x7fffffffffffffff;
