"""Metrics of a vocabulary that need no text: its size and its cost."""

from __future__ import annotations

from pyharness.bpe.model.model import BpeModel
from pyharness.types import COUNT, PERCENT, Format, Measurement, Metric, Tokenizer


def embedding_parameters(vocab_size: int, width: int) -> int:
    """Return V x d: weights of an embedding matrix with one row of ``width`` numbers per token of V.

    V excludes special tokens, as everywhere, although each costs a row. An untied unembedding costs as much again.
    """
    return vocab_size * width


def scaffold_tokens(tokenizer: Tokenizer) -> int | None:
    """Return |S|: tokens that are merged but never written. None: not Scaffold-BPE, or the library hides it."""
    model = getattr(tokenizer, "model", None)
    if not isinstance(model, BpeModel) or model.algorithm != "scaffold-bpe":
        return None
    return int(model.scaffold.sum())


def scaffold_share(vocab_size: int, scaffold: int | None) -> Measurement:
    """Return |S| / |V|: scaffold tokens relative to the tokens that can be written, from both numbers.

    S are the tokens that are merged but never written, V those of the output; both are among the |E| = |V| + |S| tokens
    that a training made.

    Source: Scaffold-BPE, arXiv 2404.17808; docs/algorithms.md "Scaffold-BPE".
    """
    if scaffold is None:
        return Measurement("scaffold_share", None, reason="no Scaffold-BPE model, or one in which nothing was demoted")
    return Measurement("scaffold_share", scaffold / vocab_size)


REPORTED = (
    Metric("vocabulary_size", "token", "none", "V: distinct tokens that are neither special nor unknown", format=COUNT),
    Metric(
        "embedding_parameters", "parameter", "lower", "V x d: weights of an embedding of the vocabulary",
        exact=True, format=Format("{:.1f}", 1e-6, "million"),
    ),
    Metric(
        "scaffold_share", "share", "none", "|S| / |V|: tokens that are merged but never written, relative to V",
        format=PERCENT,
    ),
)  # fmt: skip
