"""What an agent was asked: the user's newest request, which its view shows even where the tail begins behind it."""

from __future__ import annotations

from collections.abc import Sequence

from previously.core.messages import Role
from previously.core.path import OnPath
from previously.runtime.earlier import Earlier
from previously.runtime.view_recipes import Before
from previously.storage.store import BranchInfo, Store, StoryKey

MOST_LOOKED_AT = 1_024
"""How far back a request is looked for where no view before tells where it stands."""


def newest_user(items: Sequence[OnPath]) -> OnPath | None:
    """The newest of these messages that is a user's."""
    return next((item for item in reversed(items) if item.entry.message.role is Role.USER), None)


async def requests_before(
    store: Store | Earlier, key: StoryKey, branch: BranchInfo, newest: Sequence[OnPath], before: Before
) -> list[OnPath]:
    """What users said before these newest messages that is shown all the same: the newest request, and the one that an
    epoch holds."""
    first = newest[0].position if newest else branch.messages
    held = before.epoch.held if before.epoch else None
    found = await store.path(key, branch.name, held, held) if held is not None and held < first else []
    if newest_user(newest) is None:
        known = before.recipe.turn_position if before.recipe else -1
        since = known if 0 <= known < first else max(0, first - MOST_LOOKED_AT)
        until = known if 0 <= known < first else first - 1
        last = newest_user(await store.path(key, branch.name, since, until)) if first else None
        found += [last] if last and last.position != held else []
    return found
