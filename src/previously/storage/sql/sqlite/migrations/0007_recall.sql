-- The index of recall: what is kept of each entry for finding it. All of it is derived, and lags behind the entries.

-- How far a story is indexed, entry by entry. What lies behind `through` is as if it were not there.
CREATE TABLE recall_state (
    story INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    version INTEGER NOT NULL,         -- of what is computed and how it is kept
    word_table TEXT NOT NULL,         -- whose vectors are kept; empty = none
    through INTEGER NOT NULL,         -- the last entry that is indexed; -1 = none
    vectors_through INTEGER NOT NULL, -- the last entry whose vector is kept, if it has one
    changes INTEGER NOT NULL          -- grows whenever what is known of an entry changes
) STRICT;

-- For a term and a block of entry ids: a record for each entry that says it.
CREATE TABLE recall_posting (
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    block INTEGER NOT NULL,
    term TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (story, block, term)
) STRICT, WITHOUT ROWID;

-- For a block of entry ids: a record for each entry.
CREATE TABLE recall_fact (
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    block INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (story, block)
) STRICT, WITHOUT ROWID;

CREATE TABLE recall_vector (
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (story, entry)
) STRICT, WITHOUT ROWID;

-- The names that speak in a story.
CREATE TABLE recall_speaker (
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (story, name)
) STRICT, WITHOUT ROWID;

-- The entries of a story in the order they were made.
CREATE INDEX entry_by_story ON entry (story);
