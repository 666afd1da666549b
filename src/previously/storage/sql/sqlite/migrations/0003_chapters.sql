-- Marks can be taken off a branch, and a scope is named after its mark: AUTOINCREMENT, so that no id is given twice.
CREATE TABLE mark_kept (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    branch INTEGER NOT NULL,
    origin INTEGER NOT NULL,          -- the mark it is a copy of, or itself
    kind TEXT NOT NULL,
    position INTEGER NOT NULL,        -- -1 = before all messages
    text TEXT NOT NULL,
    made_by TEXT NOT NULL,
    at TEXT NOT NULL,
    seen BLOB NOT NULL DEFAULT x'',   -- span key of what the text stood for when it was written
    of INTEGER NOT NULL DEFAULT 0,    -- origin of the chapter mark that a recap is about
    after INTEGER NOT NULL DEFAULT 0, -- the newest version when it was made
    behind INTEGER NOT NULL DEFAULT 0, -- places behind its message that are gone
    retired_by INTEGER NOT NULL DEFAULT 0  -- the mark in whose favour it is gone; 0 = it stands
) STRICT;
INSERT INTO mark_kept (id, owner, story, branch, origin, kind, position, text, made_by, at)
SELECT id, owner, story, branch, origin, iif(kind = 'block', 'recap', kind), position, text, made_by, at FROM mark;
DROP TABLE mark;
ALTER TABLE mark_kept RENAME TO mark;
CREATE INDEX mark_by_branch ON mark (branch, position, behind, id);
CREATE INDEX mark_by_kind ON mark (branch, kind, owner, position, behind, id) WHERE retired_by = 0;
CREATE INDEX mark_by_origin ON mark (branch, origin);
CREATE UNIQUE INDEX mark_standing ON mark (branch, origin) WHERE retired_by = 0;
CREATE INDEX mark_retired ON mark (branch, retired_by) WHERE retired_by <> 0;

ALTER TABLE version ADD COLUMN anchor INTEGER NOT NULL DEFAULT 0;          -- node, 0 = not known
ALTER TABLE version ADD COLUMN reach INTEGER NOT NULL DEFAULT 0;           -- messages, 0 = not known
ALTER TABLE version ADD COLUMN commitments TEXT NOT NULL DEFAULT '[]';
-- What a person wrote is history; a mark holds it.
DROP INDEX version_by_read;
CREATE UNIQUE INDEX version_by_read ON version (story, before, kind, scope, key, replaces)
WHERE status NOT IN ('refused', 'by hand');
CREATE INDEX version_by_before ON version (story, before, scope);
CREATE INDEX version_by_status ON version (story, kind, scope, status, id, reach);

-- Where an entry stands now.
CREATE INDEX path_by_entry ON path (entry);

-- What was set for this story only.
ALTER TABLE story ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
