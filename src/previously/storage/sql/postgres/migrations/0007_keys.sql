-- The keys by which a server knows on whose behalf a client asks. Only what they are looked up by is kept.
CREATE TABLE access_key (
    name text COLLATE "C" PRIMARY KEY, -- never too long for an index
    owner text COLLATE "C" NOT NULL,  -- whose stories it opens
    hash bytea NOT NULL,
    ending text COLLATE "C" NOT NULL, -- its last characters, for people
    at text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX access_key_by_hash ON access_key (hash);

-- A key is looked up before it is known whose it is: by a transaction in the name of nobody, which sees no story. One that
-- sees stories sees no key, not even its owner's.
ALTER TABLE access_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE access_key FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON access_key
    USING ((SELECT current_setting('previously.owner', true)) = '*')
    WITH CHECK ((SELECT current_setting('previously.owner', true)) = '*' AND owner <> '*');
GRANT SELECT, INSERT, DELETE ON access_key TO previously_app;
