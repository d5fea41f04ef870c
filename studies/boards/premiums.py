"""Are our token counts and premiums those that Petrov et al. (arXiv 2305.15425) publish, language by language?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m boards.premiums FLORES

FLORES is the folder ``flores200_dataset`` of their repository. A text is all lines of dev and devtest, joined by
spaces, with the empty line after each. A premium is the tokens of a language over those of English. Qwen's own library
turns text into NFC before its ranks, and a file of ranks cannot say so: here the study does it. The exit status is 1
where a count differs.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from boards import published, table
from pyharness import tokenizers
from pyharness.types import Tokenizer

FILES = {
    "GPT-2": "gpt2/tokenizer.json",
    "r50k_base": "tiktoken/r50k_base.tiktoken",
    "p50k_base": "tiktoken/p50k_base.tiktoken",
    "cl100k_base": "tiktoken/cl100k_base.tiktoken",
    "Qwen": "tiktoken/qwen.tiktoken",
}
COMPOSED = ("Qwen",)
ENGLISH = "eng_Latn"


@dataclass(frozen=True)
class Premiums:
    """Counts of one row by language: ours and the published ones."""

    row: str
    ours: Mapping[str, int]
    theirs: Mapping[str, int]

    @property
    def differing(self) -> list[str]:
        """Languages whose counts differ, the largest relative difference first."""
        some = [code for code in self.ours if self.ours[code] != self.theirs[code]]
        return sorted(some, key=lambda code: -abs(self.ours[code] / self.theirs[code] - 1))

    def largest_premium(self, counts: Mapping[str, int]) -> tuple[float, str]:
        """The largest premium over English, and its language."""
        return max((counts[code] / counts[ENGLISH], code) for code in self.ours)


def joined(folder: Path, code: str) -> str:
    """Read the text of a language as the original joins it."""
    parts = [(folder / part / f"{code}.{part}").read_text(encoding="utf-8").split("\n") for part in ("dev", "devtest")]
    return " ".join(line for lines in parts for line in lines)


def count(
    row: str, tokenizer: Tokenizer, texts: Mapping[str, str], theirs: Mapping[str, Mapping[str, int]]
) -> Premiums:
    """Count the tokens of each text."""
    composed = row in COMPOSED
    ours = {
        code: len(tokenizer.encode_batch([unicodedata.normalize("NFC", text) if composed else text], 1).ids)
        for code, text in texts.items()
    }
    return Premiums(row, ours, {code: theirs[code][row] for code in ours})


def main(folder: Path) -> int:
    """Print a row for each tokenizer."""
    board, data = published("petrov_lengths"), os.environ["PYHARNESS_DATA"]
    texts = {code: joined(folder, code) for code in sorted(board["tokens"])}
    rows = []
    for row, path in FILES.items():
        one = count(row, tokenizers.load(f"file:{data}/tokenizers/{path}"), texts, board["tokens"])
        (ours, code), (theirs, _) = one.largest_premium(one.ours), one.largest_premium(one.theirs)
        far = [f"{code} {one.ours[code]:,} / {one.theirs[code]:,}" for code in one.differing[:4]]
        rows.append([row, str(len(one.ours)), str(len(one.ours) - len(one.differing)),
                     f"{ours:.4f} ({code})", f"{theirs:.4f}", ", ".join(far) or "-"])  # fmt: skip
    click.echo(
        table(["row", "languages", "equal counts", "largest premium", "published", "differ most (ours / theirs)"], rows)
    )
    return int(any(row[-1] != "-" for row in rows))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
