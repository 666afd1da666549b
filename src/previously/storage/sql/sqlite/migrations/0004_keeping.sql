-- When a change that comes in stages was begun; NULL = made at once. What was begun long ago and never published was given up.
-- Lines can be taken away while somebody still writes one: AUTOINCREMENT, so that none is mistaken for another. A line that
-- is being taken away has its id made negative.
CREATE TABLE line_kept (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    parent INTEGER,
    fork INTEGER NOT NULL,
    published INTEGER NOT NULL DEFAULT 1,
    begun_at TEXT
) STRICT;
INSERT INTO line_kept (id, owner, story, parent, fork, published)
SELECT id, owner, story, parent, fork, published FROM line;
DROP TABLE line;
ALTER TABLE line_kept RENAME TO line;
CREATE INDEX line_by_story ON line (story);
CREATE INDEX line_by_parent ON line (parent, fork);
CREATE INDEX line_unpublished ON line (story) WHERE published = 0;

-- What belongs to a story, in the order it was made.
CREATE INDEX version_by_story ON version (story);
CREATE INDEX mark_by_story ON mark (story);

-- Which backups were made, of what.
CREATE TABLE backup (
    owner TEXT NOT NULL,
    path TEXT NOT NULL,               -- the file; empty = this very file
    at TEXT NOT NULL,
    stories TEXT NOT NULL             -- JSON: name, number of messages and digest of each
) STRICT;
CREATE INDEX backup_by_time ON backup (owner, at);

-- What a person had forgotten: the row stays, since others refer to it; nothing of what it said does.
ALTER TABLE entry ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;
DROP INDEX version_by_read;
CREATE UNIQUE INDEX version_by_read ON version (story, before, kind, scope, key, replaces)
WHERE status NOT IN ('refused', 'by hand', 'forgotten');
