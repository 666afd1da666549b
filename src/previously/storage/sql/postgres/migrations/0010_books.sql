-- Books: sets of lore entries. They belong to an owner, and any number of the owner's stories may have them attached.
CREATE TABLE book (
    owner text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    body text NOT NULL,               -- JSON
    at text COLLATE "C" NOT NULL,     -- when it was last kept
    name_hash text COLLATE "C" GENERATED ALWAYS AS (md5(name)) STORED,
    PRIMARY KEY (owner, name_hash)
);

CREATE TABLE story_book (
    owner text COLLATE "C" NOT NULL,
    story bigint NOT NULL,
    name text COLLATE "C" NOT NULL,   -- of a book of the same owner
    position bigint NOT NULL,         -- among the books of the story
    name_hash text COLLATE "C" GENERATED ALWAYS AS (md5(name)) STORED,
    PRIMARY KEY (story, name_hash)
);
CREATE INDEX story_book_by_name ON story_book (owner, name_hash);

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['book', 'story_book'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format($policy$CREATE POLICY own ON %I
            USING (owner = (SELECT current_setting('previously.owner', true)))
            WITH CHECK (owner = (SELECT current_setting('previously.owner', true)))$policy$, name);
        EXECUTE format('GRANT SELECT, INSERT ON %I TO previously_app', name);
    END LOOP;
END $$;
-- A book is written over as a whole, and destroyed only by who may destroy; to detach it takes nothing away.
GRANT UPDATE (body, at) ON book TO previously_app;
GRANT DELETE ON story_book TO previously_app;
