"""What are the 33 of 967 tokens that "Fishing for Magikarp" verifies in GPT-2, and the unreachable ones of Yi?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m boards.untrained_lists

Their counts follow from the tokenizer files alone: single bytes, fragments of UTF-8, and how many tokens are tested
(2 % of those that their own text gives). For each verified token of GPT-2 it prints whether its own text gives it, and
what longer tokens are made of it. For Yi it sorts the dead tokens of ``reachability`` by the original's rule for names.
The exit status is 1 where a count differs without a reason.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Any

import click
import numpy as np

from boards import published, table
from pyharness import tokenizers
from pyharness.features.glitch.indicators import SHARE
from pyharness.metrics import reachability
from pyharness.metrics.reachability import UNREACHABLE, ModelTest, PipelineTest, Verdict
from pyharness.types import HasVocabulary, TokenKind, Vocabulary

PERCENT = 2  # of the tokens that their own text gives are tested
NAMED = re.compile(r"[\[<](?=.*[A-Za-z]).+[\]>]", re.DOTALL)  # the original's shape of special tokens
KNOWN = {b"<!--"}  # dead with this file; the original loads SentencePiece's, where text gives it


def examined(path: str) -> tuple[Vocabulary, ModelTest | None, PipelineTest]:
    """Run the self-tokenization test on a file."""
    tokenizer = tokenizers.load(f"file:{os.environ['PYHARNESS_DATA']}/tokenizers/{path}")
    assert isinstance(tokenizer, HasVocabulary)
    vocabulary = tokenizer.vocabulary()
    model, pipeline = reachability.examine_model(tokenizer, vocabulary, 2), PipelineTest(tokenizer, vocabulary, 2)
    pipeline.run(model, np.zeros(0, np.uint32))
    return vocabulary, model, pipeline


def tested(tokens: int) -> int:
    """Return how many of so many different values are at most their 2nd percentile, by linear interpolation."""
    return (tokens - 1) * PERCENT // 100 + 1


def counts_of(vocabulary: Vocabulary, pipeline: PipelineTest) -> dict[str, int]:
    """Return the original's counts, from the tokenizer."""
    lengths = np.diff(vocabulary.offsets)
    fragments = (pipeline.verdicts == Verdict.UNDECODABLE) & (lengths > 1)
    normal = vocabulary.kinds == TokenKind.NORMAL
    return {
        "vocabulary": len(vocabulary), "single_bytes": int((normal & (lengths == 1)).sum()),
        "fragments": int(fragments.sum()), "tested": tested(int((pipeline.verdicts == Verdict.REACHABLE).sum())),
    }  # fmt: skip


def of_gpt2(board: Mapping[str, Any]) -> bool:
    """Print the counts and the verified tokens of GPT-2; tell whether the counts are the published ones."""
    vocabulary, model, pipeline = examined("gpt2/tokenizer.json")
    counts = counts_of(vocabulary, pipeline)
    click.echo(
        table(["GPT-2", "ours", "published"], [[name, str(ours), str(board[name])] for name, ours in counts.items()])
    )
    assert model is not None
    assert model.graph is not None
    rows = [
        [str(token), repr(vocabulary[token].decode()), f"{indicator:.4g}", f"{chance:.1e}",
         Verdict(pipeline.verdicts[token]).name.lower(), str(int(model.graph.children[token]))]
        for token, indicator, chance in board["verified_tokens"]
    ]  # fmt: skip
    click.echo(table(["id", "token", "indicator", "largest probability", "verdict", "rules with it"], rows))
    limit = SHARE * board["median_like"]
    ours = sum(indicator <= limit for _, indicator, _ in board["verified_tokens"])
    others = sum(indicator <= limit for _, indicator, _ in board["others_below_0.3"])
    click.echo(f"at most {limit:.3f}, the threshold of glitch: {ours} of 33 verified tokens, and {others} others")
    return all(ours == board[name] for name, ours in counts.items())


def of_yi(board: Mapping[str, Any]) -> bool:
    """Print what the dead tokens of Yi are; tell whether all but the known ones are in the published list."""
    vocabulary, _, pipeline = examined("yi/tokenizer.json")
    dead = np.flatnonzero(np.isin(pipeline.verdicts, UNREACHABLE)).tolist()
    others = [token for token in dead if not NAMED.fullmatch(vocabulary[token].decode())]
    click.echo(f"Yi: {len(dead)} dead tokens, {len(dead) - len(others)} of them with the name of a special token")
    for token in others:
        where = "published" if token in board["unreachable"] else "not published"
        click.echo(f"{token} {vocabulary[token].decode()!r}: {where}")
    unexplained = set(others) ^ set(board["unreachable"])
    return all(vocabulary[token] in KNOWN for token in unexplained)


def main() -> int:
    """Print both."""
    board = published("magikarp_lists")
    return int(not (of_gpt2(board["gpt2"]) & of_yi(board["yi"])))


if __name__ == "__main__":
    sys.exit(main())
