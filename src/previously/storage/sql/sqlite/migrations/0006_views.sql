-- What stays the same in the views of an epoch; the text of each is kept once.
CREATE TABLE epoch (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    digest BLOB NOT NULL,
    text TEXT NOT NULL                -- JSON
) STRICT;
CREATE UNIQUE INDEX epoch_by_digest ON epoch (story, digest);
CREATE INDEX epoch_by_story ON epoch (story);

-- How views were made: who read them, under which terms, and up to which message.
CREATE TABLE recipe (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    reader TEXT NOT NULL,
    asked TEXT NOT NULL,
    node INTEGER NOT NULL,
    position INTEGER NOT NULL,
    before_tail INTEGER NOT NULL,          -- the node before the tail; 0 = the tail begins the story
    epoch INTEGER NOT NULL,
    body TEXT NOT NULL,               -- JSON
    at TEXT NOT NULL
) STRICT;
CREATE INDEX recipe_by_place ON recipe (story, reader, position, id);
CREATE INDEX recipe_by_story ON recipe (story);

-- Whether anything was said before some people only.
CREATE INDEX entry_witnessed ON entry (story) WHERE witnesses IS NOT NULL;

-- What servers reported of views, for calibrating the estimate of tokens: JSON. It is learnt anew in a copy.
ALTER TABLE story ADD COLUMN usage TEXT;
