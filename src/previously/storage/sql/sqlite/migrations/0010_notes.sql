-- Notes of a span are valid wherever their run stands. They are found by the first message they read.
ALTER TABLE version ADD COLUMN first_digest BLOB NOT NULL DEFAULT x''; -- empty = not said
CREATE INDEX version_by_first ON version (story, kind, scope, first_digest) WHERE first_digest <> x'';

-- Chains that know no marks have scopes that begin with '@'. Their links stand at the same places on every path, and may
-- be as long as a story: how far back to look for others must not depend on them, nor on notes.
CREATE INDEX version_own ON version (story, last) WHERE scope >= '@' AND scope < 'A';
DROP INDEX version_by_length;
CREATE INDEX version_by_length ON version (story, length) WHERE scope = '' OR (scope >= '0' AND scope < ':');

-- What calls cost is asked by time. Only of what called a model: notes are many, and no other question is about times.
DROP INDEX version_by_time;
CREATE INDEX version_by_time ON version (owner, at) WHERE calls > 0;
