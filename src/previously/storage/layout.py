"""The tables of a story as data: their columns, and the meaning of each.

All that copies a story whole (`storage.copy`) reads here and nowhere else which rows make up a story: one list in place
of dozens of queries that are nearly alike. Every column of every table of both schemas is named here, except those that
the place gives (`owner`, `story`) and those that a database computes by itself. Leases are no part of a story, keys
belong to none, and the tables in `NOT_COPIED` come about anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

_STORY = ("owner", "story")
"""The columns that most tables are given: the owner of the rows and their story."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column."""

    name: str
    ids_of: str = ""
    """The table whose ids it holds."""
    is_scope: bool = False
    """A text that is the id of a mark, or empty."""
    is_bytes: bool = False
    is_long: bool = False
    """A text that may be of any length."""
    came_later: bool = False
    """Left out of the digest where it is empty, so that what was noted of a story before there was such a column still
    holds. The last columns of a table only."""
    is_digested: bool = True
    """The column counts for the digest of a story, as all do but those that may differ from place to place."""
    is_number: bool = False
    """A whole number that is no id. What is neither, nor bytes, is text."""
    is_optional: bool = False
    """May be null."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table. Rows are read in the order of `key`, in which `found_by` finds them."""

    name: str
    columns: tuple[Column, ...]
    given: tuple[str, ...]
    found_by: str
    """`id`: one by one. `line` or `story`: all of one."""
    key: tuple[str, ...]
    """The columns that a row ends with when it is read by line or story."""
    is_ordered: bool
    """The order of its rows is the same everywhere."""
    is_digested: bool
    """The table counts for the digest of a story. Recipes of views do not: to look at a story changes nothing."""

    @property
    def names(self) -> list[str]:
        """The names of the columns, those that are given first."""
        return [*self.given, *(column.name for column in self.columns)]


def _parse_column(table: str, word: str) -> Column:
    """`line>parent`: an id of that table; `~`: a scope; `#`: bytes; `*`: a long text; `+`: came later; `-`: not
    digested; `=`: a number; `?`: may be null."""
    name = word.rpartition(">")[2].rstrip("~#*+-=?")
    holds = word.rpartition(">")[0] or (table if name == "id" else "mark" if "~" in word else "")
    return Column(
        name, holds, "~" in word, "#" in word, "*" in word, "+" in word, "-" not in word, "=" in word, "?" in word
    )


def _make_table(
    name: str,
    described: str,
    given: tuple[str, ...] = _STORY,
    found_by: str = "id",
    key: tuple[str, ...] = ("id",),
    is_ordered: bool = True,
    is_digested: bool = True,
) -> Table:
    columns = tuple(_parse_column(name, word) for word in described.split())
    return Table(name, columns, given, found_by, key, is_ordered, is_digested)


TABLES = (
    _make_table(
        "story", "branch>active created_at header* settings*", ("id", "owner", "name", "budget_tokens", "usage")
    ),
    _make_table("branch", "id name node>head messages= line>line created_at"),
    _make_table("line", "id line>parent? fork= published= begun_at?"),
    _make_table(
        "mark",
        "id branch>branch mark>origin kind position= text* made_by at seen# mark>of version>after behind= "
        "mark>retired_by",
    ),
    _make_table(
        "version",
        "id kind scope~ first= last= length= key# version>before version>replaces text* carry* status made_by reason* "
        "at model prompt_hash calls= input_tokens= output_tokens= shed* unverified* node>anchor reach= commitments* "
        "firm= first_digest#+",
    ),
    _make_table(
        "cover", "line>line kind scope~ first= last= version>version firm=", ("owner",), "line", ("last", "version")
    ),
    _make_table("move", "id branch>branch node>old_head node>new_head at"),
    _make_table("epoch", "id digest# text*", is_digested=False),
    _make_table(
        "recipe", "id reader asked node>node position= node>before_tail epoch>epoch body* at", is_digested=False
    ),
    _make_table("receipt", "key", found_by="story", key=("key",), is_ordered=False),
    _make_table(
        "entry",
        "id role speaker? text*? parts*? witnesses*? digest# match_key# at? source_id? extra*? hidden= forgotten= "
        "entry>replaces?",
    ),
    _make_table("node", "id node>parent depth= entry>entry hash#"),
    _make_table("path", "line>line depth= node>node entry>entry", ("owner",), "line", ("depth",)),
)
"""Those that may be told apart early come first, the long ones last. Which messages a story has, its nodes say: there
is no entry without one."""

ATTACHED = _make_table("attached book", "position= name- body* at-")
"""The books that a story has attached, in order: rows of `story_book` and of `book`, which is the owner's. Copied too,
and part of the digest by what they say: a book whose name is taken is given another."""

NOT_COPIED: dict[str, tuple[str, ...]] = {
    "recall_state": ("owner", "story", "version", "word_table", "through", "vectors_through", "changes"),
    "recall_posting": ("owner", "story", "block", "term", "data"),
    "recall_fact": ("owner", "story", "block", "data"),
    "recall_vector": ("owner", "story", "entry", "data"),
    "recall_speaker": ("owner", "story", "name"),
    "answer": ("id", "owner", "request", "story", "text", "model", "at"),
    "model_fact": ("id", "owner", "model", "fact", "at"),
}
"""The index of recall is derived, entry by entry, from ids that a copy gives anew: a copy is indexed when it is first
asked. What models answered is a cache, and what is known of them the owner's: both come about anew."""

WITH_IDS = tuple(table.name for table in TABLES if any(column.name == "id" for column in table.columns))
"""The tables whose ids are told apart within a story."""

LISTED = tuple(name for name in WITH_IDS if name not in ("entry", "node"))
"""Those of them that are listed by story and id. Nodes have no such index, and say which entries there are:
`ids_of_node` lists both."""


@dataclass(frozen=True, slots=True)
class _Dialect:
    """The spelling of queries for one backend."""

    value: str
    """A value by its name."""
    mark: str
    """A value by its place."""
    among: str
    """Is one of the `ids`, which are given as JSON."""

    def equal(self, *names: str) -> str:
        return " AND ".join(f"{name} = {self.value.format(name)}" for name in names)

    def onward(self, key: Sequence[str]) -> str:
        """The next so many rows from a place on."""
        place = ", ".join(self.value.format(f"from_{number}") for number in range(len(key)))
        keys = ", ".join(key)
        return f"AND ({keys}) >= ({place}) ORDER BY {keys} LIMIT {self.value.format('most')}"


_SQLITE = _Dialect(":{}", "?", "IN (SELECT value FROM json_each(:ids))")
_POSTGRES = _Dialect("%({})s", "%s", "= ANY (ARRAY(SELECT jsonb_array_elements_text(%(ids)s::jsonb)::bigint))")


@cache
def write_copy_queries(backend: str) -> Mapping[str, str]:
    """The queries that copying asks of a backend, by name. Each reads rows of one owner only."""
    dialect = _POSTGRES if backend == "postgres" else _SQLITE
    queries: dict[str, str] = {}
    for table in TABLES:
        # Keys may be too long for an index of PostgreSQL: that of their hashes has them, in an order of its own.
        key = ("key_hash",) if dialect is _POSTGRES and table.name == "receipt" else table.key
        queries |= {
            f"copy_{table.name}": _write_select(table, dialect, key),
            f"copy_into_{table.name}": _write_insert(table, dialect),
        }
        long = [column.name for column in table.columns if column.is_long]
        if long and table.name != "story":
            queries[f"sizes_of_{table.name}"] = _write_select_by_ids(
                table, dialect, f"id, {' + '.join(map(_write_size, long))}"
            )
    whose = dialect.equal("story", "owner")
    for name in LISTED:
        queries[f"ids_of_{name}"] = f"SELECT id FROM {name} WHERE {whose} {dialect.onward(['id'])}"
    queries["ids_of_node"] = f"SELECT id, parent, entry FROM node WHERE {whose} {dialect.onward(['parent', 'entry'])}"
    for name in ("story", *LISTED):  # those of entries and nodes are asked for all the time, and not made here
        if dialect is _POSTGRES:
            queries[f"reserve_{name}"] = f"SELECT nextval('{name}_id_seq') FROM generate_series(1, %(count)s)"
        else:
            queries[f"last_{name}_id"] = f"SELECT coalesce(max(id), 0) FROM {name}"
    # Without statistics PostgreSQL would rather read all that is left of a table, and sort it, than the next rows only.
    off = [f"set_config('{name}', 'off', true)" for name in ("enable_bitmapscan", "enable_sort")]
    queries["plan_for_copying"] = f"SELECT {', '.join(off) if dialect is _POSTGRES else 0}"
    if dialect is _SQLITE:  # of these no id is ever given twice, not even of a row that is gone
        for name in ("story", "line", "mark"):
            queries[f"last_{name}_id"] = f"SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '{name}'"
    return queries


def _write_select(table: Table, dialect: _Dialect, key: tuple[str, ...]) -> str:
    columns = ", ".join(column.name for column in table.columns)
    match table.found_by:
        case "id" if table.name == "story":
            return (
                f"SELECT {columns} FROM story WHERE id = {dialect.value.format('story')} AND {dialect.equal('owner')}"
            )
        case "id":
            return f"{_write_select_by_ids(table, dialect, columns)} ORDER BY id"
        case whole:
            where = f"WHERE {dialect.equal(whole, 'owner')} {dialect.onward(key)}"
            return f"SELECT {columns}, {', '.join(key)} FROM {table.name} {where}"


def _write_select_by_ids(table: Table, dialect: _Dialect, columns: str) -> str:
    # The sum keeps a planner without statistics from looking through all nodes of a story for a few of them.
    story = "story + 0" if table.name in ("entry", "node") else "story"
    whose = f"{story} = {dialect.value.format('story')} AND {dialect.equal('owner')}"
    return f"SELECT {columns} FROM {table.name} WHERE id {dialect.among} AND {whose}"


def _write_insert(table: Table, dialect: _Dialect) -> str:
    marks = ", ".join(dialect.mark for _ in table.names)
    return f"INSERT INTO {table.name} ({', '.join(table.names)}) VALUES ({marks})"


def _write_size(column: str) -> str:
    return f"coalesce(octet_length({column}), 0)"
