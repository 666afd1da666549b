-- The index of recall: what is kept of each entry for finding it. All of it is derived, and lags behind the entries.

-- How far a story is indexed, entry by entry. What lies behind `through` is as if it were not there.
CREATE TABLE recall_state (
    story bigint PRIMARY KEY,
    owner text COLLATE "C" NOT NULL,
    version bigint NOT NULL,          -- of what is computed and how it is kept
    word_table text COLLATE "C" NOT NULL, -- whose vectors are kept; empty = none
    through bigint NOT NULL,          -- the last entry that is indexed; -1 = none
    vectors_through bigint NOT NULL,  -- the last entry whose vector is kept, if it has one
    changes bigint NOT NULL           -- grows whenever what is known of an entry changes
);

-- For a term and a block of entry ids: a record for each entry that says it. By term first, unlike on SQLite: a list of
-- terms is then looked up without a join, and the server does not write its rows in the order of a key.
CREATE TABLE recall_posting (
    owner text COLLATE "C" NOT NULL,
    story bigint NOT NULL,
    block bigint NOT NULL,
    term text COLLATE "C" NOT NULL,   -- never too long for an index
    data bytea NOT NULL,
    PRIMARY KEY (story, term, block)
) WITH (fillfactor = 80);
CREATE INDEX recall_posting_by_block ON recall_posting (story, block);

-- For a block of entry ids: a record for each entry.
CREATE TABLE recall_fact (
    owner text COLLATE "C" NOT NULL,
    story bigint NOT NULL,
    block bigint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (story, block)
);

CREATE TABLE recall_vector (
    owner text COLLATE "C" NOT NULL,
    story bigint NOT NULL,
    entry bigint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (story, entry)
);

-- Records are read and appended to whole: to pack them would cost more than it saves.
ALTER TABLE recall_posting ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE recall_fact ALTER COLUMN data SET STORAGE EXTERNAL;

-- The names that speak in a story.
CREATE TABLE recall_speaker (
    owner text COLLATE "C" NOT NULL,
    story bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    name_hash text COLLATE "C" GENERATED ALWAYS AS (md5(name)) STORED,
    PRIMARY KEY (story, name_hash)
);

-- The entries of a story in the order they were made.
CREATE INDEX entry_by_story ON entry (story, id);

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['recall_state', 'recall_posting', 'recall_fact', 'recall_vector', 'recall_speaker'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format($policy$CREATE POLICY own ON %I
            USING (owner = (SELECT current_setting('previously.owner', true)))
            WITH CHECK (owner = (SELECT current_setting('previously.owner', true)))$policy$, name);
        -- Derived: the role that serves people may make all of it anew.
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO previously_app', name);
    END LOOP;
END $$;
