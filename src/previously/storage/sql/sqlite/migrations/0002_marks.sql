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
