"""What tests of whole stories may use."""

from __future__ import annotations

import pytest

from previously.runtime import model_writer


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that failed is asked again at once."""

    async def at_once(seconds: float) -> None:
        """Wait no time at all."""

    defaults = model_writer.ModelWriter.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "sleep", at_once)
