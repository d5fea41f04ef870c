-- A history. SQLite and PostgreSQL take it. Records are what is kept; points are made of them (rebuild).
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE records (
    id TEXT PRIMARY KEY,        -- SHA-256 of the content
    kind TEXT NOT NULL,
    created TEXT NOT NULL,      -- as the record says: it orders reasons of gaps, and nothing else
    suite TEXT NOT NULL,
    machine TEXT NOT NULL,      -- JSON: what identifies it
    revision TEXT NOT NULL,     -- commit that it measured: as the record says, or --revision
    content BYTEA NOT NULL      -- JSON, packed by zlib
);
CREATE INDEX records_of_revision ON records (revision);
CREATE TABLE revisions (
    id TEXT PRIMARY KEY,        -- commit
    place INTEGER,              -- on the first-parent line; NULL: not on it, as far as the clones knew
    parent TEXT,                -- NULL: not known, or none
    committed TEXT,
    subject TEXT
);
CREATE TABLE points (
    record TEXT NOT NULL,
    series TEXT NOT NULL,       -- JSON: collecting.SeriesName
    revision TEXT NOT NULL,
    anchor TEXT NOT NULL,       -- '' without one
    value DOUBLE PRECISION NOT NULL,
    low DOUBLE PRECISION,       -- of a 95 % interval
    high DOUBLE PRECISION,
    samples INTEGER NOT NULL    -- launches of a gate; 0: of a gate that chose by what it saw, so it is not judged
);
CREATE TABLE gaps (
    record TEXT PRIMARY KEY,
    revision TEXT NOT NULL,
    anchor TEXT NOT NULL,
    suite TEXT NOT NULL,
    reason TEXT NOT NULL        -- why a gate has no points: it did not build, or the arms differed
);
