-- What models answered, by the hash of the request, so that none is paid twice: a cache, with the newest answers of each
-- owner. Those kept later have higher ids.
CREATE TABLE answer (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    request BLOB NOT NULL,            -- the hash
    story INTEGER NOT NULL,           -- with which it is forgotten
    text TEXT NOT NULL,
    model TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX answer_by_request ON answer (owner, request);
CREATE INDEX answer_by_age ON answer (owner, id);
CREATE INDEX answer_by_story ON answer (story);

-- What was learnt of a model, such as how it must be asked. What is set later has a higher id.
CREATE TABLE model_fact (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    model TEXT NOT NULL,
    fact TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX model_fact_by_model ON model_fact (owner, model);
CREATE INDEX model_fact_by_age ON model_fact (owner, id);
