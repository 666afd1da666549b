-- What each writer wrote last, so that it can find out afterwards whether a commit that nobody answered was kept. (The
-- number of a transaction does not tell: a server that crashed may give it again.) A writer is one thread of one
-- process; its row is its alone and is written over by each of its changes. Nothing here is of any owner: no row-level
-- security. Rows of writers that are gone are taken away when a store is opened.
CREATE TABLE last_change (
    writer text COLLATE "C" PRIMARY KEY,
    token text COLLATE "C" NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE, DELETE ON last_change TO previously_app;
