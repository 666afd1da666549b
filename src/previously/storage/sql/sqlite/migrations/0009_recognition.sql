-- In which stories a message occurs that a client sends.
CREATE INDEX entry_by_match ON entry (match_key, owner);
