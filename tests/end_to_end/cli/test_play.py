"""`previously play` from a shell: in a pipe, without colour, with and without a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.play.game_doubles import write_game
