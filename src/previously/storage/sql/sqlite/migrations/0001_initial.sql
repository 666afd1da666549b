-- Every row names its owner; every query asks for it.

CREATE TABLE story (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    active INTEGER NOT NULL,          -- branch
    budget_tokens INTEGER,            -- of the last view
    created_at TEXT NOT NULL,
    UNIQUE (owner, name)
) STRICT;

-- A branch is a name for a head. Its path lies in `line`.
CREATE TABLE branch (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    name TEXT NOT NULL,
    head INTEGER NOT NULL,            -- node, 0 when empty
    messages INTEGER NOT NULL,
    line INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    UNIQUE (story, name)
) STRICT;

CREATE TABLE entry (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    role TEXT NOT NULL,
    speaker TEXT,
    text TEXT,                        -- a message of one text part; otherwise NULL, and
    parts TEXT,                       -- the parts as JSON
    witnesses TEXT,                   -- JSON array of names; NULL = everyone
    digest BLOB NOT NULL,
    match_key BLOB NOT NULL,
    at TEXT,
    source_id TEXT,
    extra TEXT,                       -- JSON object
    hidden INTEGER NOT NULL DEFAULT 0,
    replaces INTEGER                  -- the entry it is an edit of
) STRICT;

CREATE TABLE node (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    parent INTEGER NOT NULL,          -- 0 at the root
    depth INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    hash BLOB NOT NULL,
    UNIQUE (story, parent, entry)
) STRICT;

-- Caches of the path: the rows of a line from its fork on; below the fork the rows of its parent hold.
-- A line is written by one branch only. Once rows beyond some depth serve another line, they never change.
CREATE TABLE line (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    parent INTEGER,
    fork INTEGER NOT NULL
) STRICT;
CREATE INDEX line_by_story ON line (story);
CREATE INDEX line_by_parent ON line (parent, fork);

CREATE TABLE path (
    owner TEXT NOT NULL,
    line INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    node INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    PRIMARY KEY (line, depth)
) STRICT, WITHOUT ROWID;

CREATE TABLE version (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    length INTEGER NOT NULL,
    key BLOB NOT NULL,
    before INTEGER NOT NULL,          -- version, 0 at the start of a chain
    replaces INTEGER NOT NULL,        -- version, 0 for none
    text TEXT NOT NULL,
    carry TEXT NOT NULL,
    status TEXT NOT NULL,
    made_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    at TEXT NOT NULL,
    model TEXT NOT NULL,
    prompt_hash TEXT NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL
) STRICT;
-- Of two racing folds the second is discarded.
CREATE UNIQUE INDEX version_by_read ON version (story, before, kind, scope, key, replaces) WHERE status <> 'refused';
CREATE INDEX version_by_length ON version (story, length);

-- Cache: which versions are valid on a line, stored like `path` from the fork on.
CREATE TABLE cover (
    owner TEXT NOT NULL,
    line INTEGER NOT NULL,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (line, last, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX cover_by_version ON cover (version);
CREATE INDEX cover_by_kind ON cover (line, kind, scope, last);

CREATE TABLE move (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    branch INTEGER NOT NULL,
    old_head INTEGER NOT NULL,
    new_head INTEGER NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX move_by_story ON move (story);

CREATE TABLE receipt (
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (story, key)
) STRICT, WITHOUT ROWID;
