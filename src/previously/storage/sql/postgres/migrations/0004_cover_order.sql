-- Which version of a kind reaches furthest is asked in the order of `cover_by_kind`. The primary key had the same order
-- within a line, so that a planner without statistics took it as well, and read what is of other kinds.
ALTER TABLE cover DROP CONSTRAINT cover_pkey;
CREATE UNIQUE INDEX cover_by_last ON cover (line, last, version DESC);
