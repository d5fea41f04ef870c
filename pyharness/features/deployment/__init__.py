"""Tokenizers as they are deployed: in a GGUF file, and as transformers loads a folder.

``gguf_file`` reads the metadata of a GGUF file and nothing behind it. ``gguf_vocabulary`` makes of it a file that our
engine runs. ``auto`` is transformers' AutoTokenizer. ``coverage`` compares engines with each tokenizer's own library.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.cli": ("cli:COMMANDS", "cli:EXAMPLES"),
    "pyharness.tokenizers": ("auto:FAMILIES", "gguf:FAMILIES"),
}
