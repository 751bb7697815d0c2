-- How many edges have each type: one that no edge has any more is gone, as the name of a type is a word like any other.
ALTER TABLE rels ADD COLUMN edges INTEGER NOT NULL DEFAULT 0;
UPDATE rels SET edges = counted.edges
    FROM (SELECT rel, count(*) AS edges FROM edges GROUP BY rel) counted WHERE counted.rel = rels.rel;
DELETE FROM rels WHERE edges = 0;
DROP TRIGGER edge_made;
DROP TRIGGER edge_gone;
CREATE TRIGGER edge_made AFTER INSERT ON edges BEGIN
    INSERT INTO degrees VALUES (new.src, 1, 0) ON CONFLICT (lid) DO UPDATE SET leaves = leaves + 1;
    INSERT INTO degrees VALUES (new.dst, 0, 1) ON CONFLICT (lid) DO UPDATE SET enters = enters + 1;
    UPDATE rels SET edges = edges + 1 WHERE rel = new.rel;
END;
CREATE TRIGGER edge_gone AFTER DELETE ON edges BEGIN
    UPDATE degrees SET leaves = leaves - 1 WHERE lid = old.src;
    UPDATE degrees SET enters = enters - 1 WHERE lid = old.dst;
    DELETE FROM degrees WHERE lid IN (old.src, old.dst) AND leaves = 0 AND enters = 0;
    UPDATE rels SET edges = edges - 1 WHERE rel = old.rel;
    DELETE FROM rels WHERE rel = old.rel AND edges = 0;
END;
