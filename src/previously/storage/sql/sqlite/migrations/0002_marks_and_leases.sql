-- What a person or a fold has said about a place on a branch.
CREATE TABLE mark (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    branch INTEGER NOT NULL,
    origin INTEGER NOT NULL,          -- the mark it is a copy of, or itself
    kind TEXT NOT NULL,
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    made_by TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX mark_by_branch ON mark (branch, position);
CREATE UNIQUE INDEX mark_by_origin ON mark (branch, origin);

-- A line is published with its head; one that never was is what an interrupted import left behind.
ALTER TABLE line ADD COLUMN published INTEGER NOT NULL DEFAULT 1;

-- Neither provisional nor built on anything that is.
ALTER TABLE version ADD COLUMN firm INTEGER NOT NULL DEFAULT 1;
ALTER TABLE cover ADD COLUMN firm INTEGER NOT NULL DEFAULT 1;
ALTER TABLE version ADD COLUMN shed TEXT NOT NULL DEFAULT '[]';
ALTER TABLE version ADD COLUMN unverified TEXT NOT NULL DEFAULT '[]';
CREATE INDEX version_by_time ON version (owner, at);

-- What the file a story came from says beside its messages.
ALTER TABLE story ADD COLUMN header TEXT NOT NULL DEFAULT '{}';

-- Who is at work on what, so that nothing is paid for twice.
CREATE TABLE lease (
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    work TEXT NOT NULL,
    holder TEXT NOT NULL,
    until TEXT NOT NULL,
    PRIMARY KEY (story, work)
) STRICT, WITHOUT ROWID;
