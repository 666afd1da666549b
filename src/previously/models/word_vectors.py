"""The table of word vectors that recall compares meanings by.

The static vectors come inside the package `wordllama` (32,000 word pieces of 256 numbers; the extra
`previously[recall]`). `load_word_table` reads them once, when first asked for, and keeps them. Only the package's two
files are used, not its code: the numbers are mapped into memory, so that a first question costs what it touches.
Nothing is fetched. Without the package, or with one that is not as expected, there is no table, and recall works by
words alone.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from previously.recall.vectors import DIMENSIONS, PieceRows, PieceTable, WordTable

_PACKAGE = "wordllama"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_PIECES = "tokenizers/l2_supercat_tokenizer_config.json"


@lru_cache(maxsize=1)
def load_word_table() -> WordTable | None:
    """Return the table, or None where the package is not installed or does not hold it."""
    package = find_spec(_PACKAGE)
    for directory in (package.submodule_search_locations if package else None) or ():
        table = read_table(Path(directory) / _WEIGHTS, Path(directory) / _PIECES)
        if table is not None:
            return table
    return None


def read_table(weights: Path, pieces: Path) -> WordTable | None:
    """Read the table of a safetensors file with one matrix and the vocabulary of its tokenizer.

    None where they are not there or not of the kind we know.
    """
    try:
        rows = _map_matrix(weights)
        numbers: dict[str, int] = json.loads(pieces.read_text("utf-8"))["model"]["vocab"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    fits = rows.shape[1] == DIMENSIONS and len(rows) >= len(numbers)
    return PieceTable(f"{weights.stem}, weighed", rows, numbers) if fits else None


def _map_matrix(path: Path) -> PieceRows:
    """Map the one matrix of a safetensors file: a length, a JSON header, then the numbers."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        (about,) = (tensor for name, tensor in json.loads(file.read(size)).items() if name != "__metadata__")
    if about["dtype"] != "F16":
        raise ValueError(f"{path.name} holds {about['dtype']} numbers, not F16")
    start, _ = about["data_offsets"]
    rows, columns = about["shape"]
    return np.memmap(path, np.float16, "r", 8 + size + start, (rows, columns))
