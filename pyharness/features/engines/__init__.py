"""Engines: other libraries that run a vocabulary of which a row already has the home library, ``gigatoken+deepseek``.

``engine_row`` is what such rows share. One module per library holds what it can run and what it cannot.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.tokenizers": (
        "fastokens:ENGINES", "gigatoken:ENGINES", "quicktok:ENGINES", "quicktok:FAMILIES", "rs_bpe:ENGINES",
        "rs_bpe:FAMILIES", "splintr:ENGINES", "splintr:FAMILIES", "tokie:ENGINES",
    )
}  # fmt: skip
