-- Notes of a span are valid wherever their run stands. They are found by the first message they read.
ALTER TABLE version ADD COLUMN first_digest bytea NOT NULL DEFAULT ''; -- empty = not said
CREATE INDEX version_by_first ON version (story, kind, scope, first_digest) WHERE first_digest <> '';

-- What calls cost is asked by time. Only of what called a model: notes are many, and no other question is about times.
DROP INDEX version_by_time;
CREATE INDEX version_by_time ON version (owner, at) WHERE calls > 0;
