-- The keys by which a server knows on whose behalf a client asks. Only what they are looked up by is kept.
CREATE TABLE access_key (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,              -- whose stories it opens
    hash BLOB NOT NULL,
    ending TEXT NOT NULL,             -- its last characters, for people
    at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX access_key_by_hash ON access_key (hash);
