-- Whoever still holds a story that was forgotten must not write into a later one: AUTOINCREMENT, so that no id is given
-- twice.
CREATE TABLE story_kept (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    active INTEGER NOT NULL,          -- branch
    budget_tokens INTEGER,            -- of the last view
    created_at TEXT NOT NULL,
    header TEXT NOT NULL DEFAULT '{}',
    settings TEXT NOT NULL DEFAULT '{}',
    UNIQUE (owner, name)
) STRICT;
INSERT INTO story_kept (id, owner, name, active, budget_tokens, created_at, header, settings)
SELECT id, owner, name, active, budget_tokens, created_at, header, settings FROM story;
DROP TABLE story;
ALTER TABLE story_kept RENAME TO story;
