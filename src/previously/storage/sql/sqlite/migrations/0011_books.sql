-- Books: sets of lore entries. They belong to an owner, and any number of the owner's stories may have them attached.
CREATE TABLE book (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,               -- JSON
    at TEXT NOT NULL,                 -- when it was last kept
    PRIMARY KEY (owner, name)
) STRICT;

CREATE TABLE story_book (
    owner TEXT NOT NULL,
    story INTEGER NOT NULL,
    name TEXT NOT NULL,               -- of a book of the same owner
    position INTEGER NOT NULL,        -- among the books of the story
    PRIMARY KEY (story, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX story_book_by_name ON story_book (owner, name);
