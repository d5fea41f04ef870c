"""Are our numbers those that TokSuite and TokEval publish for FLORES, row by row and column by column?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m boards.aligned_lines FLORES

FLORES is the folder ``flores200_dataset`` of github.com/AleksandarPetrov/tokenization-fairness; both boards read its
997 lines of dev. TokSuite: parity, the mean over lines of tokens / tokens of the English line. TokEval: what its
RESULTS have for 13 languages, with lines as the unit of costs. The exit status is 1 where a parity differs. Numbers of
TokEval may: its text is FLORES+, which corrects some lines.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from boards import published, table
from pyharness import tokenizers
from pyharness.features.distribution.benchmark import mean_rank
from pyharness.metrics.counting.state import Counts, Facts
from pyharness.metrics.distribution import renyi_entropy
from pyharness.metrics.fairness import gini
from pyharness.types import Tokenizer

ENGLISH = "eng_Latn"
SPECS = {
    "GPT-2": "file:{data}/gpt2/tokenizer.json",
    "GPT-4o": "file:{data}/tiktoken/o200k_base.tiktoken",
    "Qwen-3": "file:{data}/qwen2_5/tokenizer.json",
    "ByT5": "raw_bytes",
    "Qwen 3": "file:{data}/qwen2_5/tokenizer.json",
    "DeepSeek R1": "file:{data}/deepseek_v3/tokenizer.json",
    "Kimi": "file:{data}/kimi_k2/kimi_k2.tiktoken",
    "GPT OSS": "file:{data}/tiktoken/o200k_base.tiktoken",
}
ADDED = {"ByT5": 1, "DeepSeek R1": 0}  # special tokens that the original counts with each line


def lines_of(folder: Path, code: str) -> list[str]:
    """The lines of dev of a language, without space around them, as both originals read them."""
    return [line.strip() for line in (folder / "dev" / f"{code}.dev").read_text(encoding="utf-8").splitlines()]


def parity(tokenizer: Tokenizer, added: int, lines: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, float]]:
    """Yield the mean ratio of tokens to those of the English line, language by language."""
    counts = {code: np.diff(tokenizer.encode_batch(texts).offsets) + added for code, texts in lines.items()}
    for code in counts:
        if code != ENGLISH:
            yield code, float((counts[code] / counts[ENGLISH]).mean())


def board_of(tokenizer: Tokenizer, lines: Mapping[str, Sequence[str]], size: int) -> dict[str, float]:
    """Return the columns of TokEval, of all languages together; ``size``: the published vocabulary's."""
    encoded = {code: tokenizer.encode_batch(texts) for code, texts in lines.items()}
    histogram: NDArray[np.uint64] = np.bincount(np.concatenate([one.ids for one in encoded.values()])).astype(np.uint64)
    costs = np.array([len(one.ids) for one in encoded.values()])
    lengths = np.concatenate([np.diff(one.offsets) for one in encoded.values()])
    rows = len(next(iter(lines.values())))
    counts = Counts({}, histogram, Facts.of(tokenizer))
    return {
        "fertility": float(costs.sum()) / (rows * len(lines)), "compression": float((1 / lengths).mean()),
        "utilization": counts.types / size, "ttr": counts.types / float(costs.sum()),
        "entropy": renyi_entropy(counts.shares, 1), "rank": mean_rank(counts), "gini": gini(costs),
    }  # fmt: skip


def near(ours: float, theirs: str) -> bool:
    """Whether a number rounds to the published one."""
    places = len(theirs.partition(".")[2])
    return f"{ours:.{places}f}" == theirs


def main(folder: Path) -> int:
    """Print both boards beside ours."""
    board, data = published("aligned_lines"), f"{os.environ['PYHARNESS_DATA']}/tokenizers"
    suite, results = board["toksuite"]["parity"], board["tokeval"]
    different, rows = 0, []
    texts = {code: lines_of(folder, code) for code in (ENGLISH, *next(iter(suite.values())))}
    for row, figures in suite.items():
        ours = dict(parity(tokenizers.load(SPECS[row].format(data=data)), ADDED.get(row, 0), texts))
        far = [code for code, theirs in figures.items() if not near(ours[code], theirs)]
        different += len(far)
        rows.append([row, *(f"{ours[code]:.3f} / {theirs}" for code, theirs in figures.items()), ", ".join(far) or "-"])
    click.echo(table(["TokSuite, parity", *next(iter(suite.values())), "differ"], rows))
    texts = {code: lines_of(folder, code) for code in results["languages"]}
    rows = []
    for row, figures in results["rows"].items():
        ours = board_of(tokenizers.load(SPECS[row].format(data=data)), texts, results["sizes"][row])
        far = [name for name, theirs in figures.items() if not near(ours[name], theirs)]
        places = {name: len(theirs.partition(".")[2]) for name, theirs in figures.items()}
        cells = (f"{ours[name]:.{places[name]}f} / {theirs}" for name, theirs in figures.items())
        rows.append([row, *cells, ", ".join(far) or "-"])
    click.echo(table(["TokEval", *next(iter(results["rows"].values())), "differ"], rows))
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
