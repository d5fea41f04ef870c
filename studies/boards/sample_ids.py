"""Are our ids those that tokka-bench publishes for the beginnings of its texts, in 120 languages?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m boards.sample_ids

The board keeps 300 bytes of each text with their ids. The exit status is 1 where ids differ.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

from boards import published, table
from pyharness import tokenizers
from pyharness.types import Tokenizer

FILES = {
    "GPT-2": "gpt2/tokenizer.json",
    "GPT-4": "tiktoken/cl100k_base.tiktoken",
    "gpt-oss": "tiktoken/o200k_base.tiktoken",
    "Qwen3": "qwen2_5/tokenizer.json",
    "Kimi K2": "kimi_k2/kimi_k2.tiktoken",
}


@dataclass(frozen=True)
class SampleIds:
    """The comparison of one row: languages in all, those with equal ids, and those whose ids differ."""

    row: str
    languages: int
    differing: tuple[str, ...]

    @property
    def equal(self) -> int:
        """Number of languages with equal ids."""
        return self.languages - len(self.differing)


def compare(row: str, tokenizer: Tokenizer, texts: Mapping[str, str], ids: Mapping[str, Sequence[int]]) -> SampleIds:
    """Compare the ids of each text."""
    differing = [name for name in texts if tokenizer.encode_batch([texts[name]], 1).ids.tolist() != list(ids[name])]
    return SampleIds(row, len(texts), tuple(sorted(differing)))


def main() -> int:
    """Print a row for each tokenizer."""
    board, folder = published("tokka_ids"), os.environ["PYHARNESS_DATA"]
    compared = [
        compare(row, tokenizers.load(f"file:{folder}/tokenizers/{path}"), board["texts"], board["ids"][row])
        for row, path in FILES.items()
    ]
    cells = [[one.row, str(one.languages), str(one.equal), ", ".join(one.differing) or "-"] for one in compared]
    click.echo(table(["row", "languages", "equal ids", "differ"], cells))
    return int(any(one.differing for one in compared))


if __name__ == "__main__":
    sys.exit(main())
