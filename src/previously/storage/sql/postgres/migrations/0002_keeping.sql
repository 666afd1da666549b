-- When a change that comes in stages was begun; NULL = made at once. What was begun long ago and never published was given up.
-- A line that is being taken away has its id made negative.
ALTER TABLE line ADD COLUMN begun_at text;
CREATE INDEX line_unpublished ON line (story) WHERE published = 0;

-- What belongs to a story, in the order it was made.
CREATE INDEX mark_by_story ON mark (story, id);

-- Which backups were made, of what.
CREATE TABLE backup (
    owner text COLLATE "C" NOT NULL,
    path text NOT NULL,               -- the file; empty = this very file
    at text COLLATE "C" NOT NULL,
    stories text NOT NULL             -- JSON: name, number of messages and digest of each
);
CREATE INDEX backup_by_time ON backup (owner, at);
ALTER TABLE backup ENABLE ROW LEVEL SECURITY;
ALTER TABLE backup FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON backup
    USING (owner = (SELECT current_setting('previously.owner', true)))
    WITH CHECK (owner = (SELECT current_setting('previously.owner', true)));
GRANT SELECT, INSERT ON backup TO previously_app;
GRANT UPDATE (stories) ON backup TO previously_app;

-- What a person had forgotten: the row stays, since others refer to it; nothing of what it said does.
ALTER TABLE entry ADD COLUMN forgotten smallint NOT NULL DEFAULT 0;
DROP INDEX version_by_read;
CREATE UNIQUE INDEX version_by_read ON version (story, before, kind, scope, key, replaces)
WHERE status NOT IN ('refused', 'by hand', 'forgotten');
