"""Next-token entropy: what a causal language model makes of a corpus in its own tokens.

The row's tokenizer must be the model's: where the model ships one, its ids are compared on all of the text, and a
difference fails the case. Without ``model=`` the model is the one that the row's tokenizer file came with, so that rows
with a model each have the same parameters, and compare.

A model may have more logits than the tokenizer has ids: padding. It predicts them, so they count, unless
``ignore_padding`` leaves out all ids that the tokenizer does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyharness import corpora, language_models, tokenizers
from pyharness.benchmarks import Benchmark, Findings, Work
from pyharness.benchmarks.next_token_scoring import NoNumber, Scoring
from pyharness.corpora.batching import batches
from pyharness.language_models import CausalModel
from pyharness.metrics import language_model
from pyharness.metrics.counting import state_arrays, word_positions
from pyharness.metrics.counting.state import CorpusState
from pyharness.plugins.specification import TOKENIZER
from pyharness.statistics.jackknife import group_of
from pyharness.system.environment import version_of
from pyharness.tokenizers.families import file
from pyharness.types import (
    Case,
    CaseResult,
    Column,
    InputError,
    Plot,
    State,
    Table,
    Tally,
    Tokenizer,
    TokenizerSpec,
    Unsupported,
)
from pyharness.vocabularies.files import vocabulary_file

MODEL_OF_ROW = ""
LONGEST_CONTEXT = 2048  # that of GPT-3; where a model allows 64 times as much, hidden states would fill the memory
DTYPES = {"cpu": "float32", "cuda": "bfloat16"}
AUTO = "auto"
UNCHECKED = "not checked"
BYTES_AT_ONCE = 1 << 16  # of text, whose windows are sorted by length


# ---------------------------------------------------------------------------------------------- parameters


def settle(parameters: Mapping[str, Any], row: TokenizerSpec, device: str) -> dict[str, Any]:
    """Check what can be known before anything runs; the data type is filled in, because it decides the numbers."""
    context, stride = parameters["context"], parameters["stride"]
    if context == 1:
        raise InputError("context = 1 leaves nothing to predict from; write 2 or more, or 0 for the model's own")
    if context and stride > context:
        raise InputError(f"stride = {stride} leaves tokens out: it is more than context = {context}")
    if parameters["batch_tokens"] == 0:
        raise InputError("batch_tokens = 0 is no batch; write the number of tokens that fit in memory at once")
    dtype = DTYPES[device] if parameters["dtype"] == AUTO else parameters["dtype"]
    if dtype not in language_models.DTYPES:
        raise InputError(f"unknown dtype {dtype!r}; known: {AUTO}, {', '.join(language_models.DTYPES)}")
    language_models.check(model_name(parameters, row))
    return {**parameters, "dtype": dtype}


def model_name(parameters: Mapping[str, Any], row: TokenizerSpec) -> str:
    """Name of the model: the one given, or the one whose folder or repository the row's tokenizer is from."""
    if parameters["model"] != MODEL_OF_ROW:
        return str(parameters["model"])
    home = TOKENIZER.parse(TOKENIZER.parse(row.name).home)
    if home.name == "hf" and home.argument:
        return home.argument
    if row.path is not None and language_models.holds_model(Path(row.path).parent):
        return str(Path(row.path).parent)
    raise Unsupported(f"tokenizer {row.name!r} comes with no language model; name one: next_token_entropy?model=FOLDER")


def window_sizes(parameters: Mapping[str, Any], model: CausalModel) -> tuple[int, int]:
    """Context and stride in tokens: 0 stands for the model's own, up to 2048, and for half of the context."""
    longest, context = model.longest, parameters["context"]
    if longest is not None and context > longest:
        raise InputError(f"context = {context} is more than the {longest} tokens of model {model.folder.name!r}")
    context = context or min(longest or LONGEST_CONTEXT, LONGEST_CONTEXT)
    stride = parameters["stride"] or max(context // 2, 1)
    if stride > context:
        raise InputError(f"stride = {stride} leaves tokens out: the model's context is {context}")
    return context, stride


# ---------------------------------------------------------------------------------------------- the case


def run(work: Work) -> Findings:
    """Score the whole corpus."""
    parameters = work.case.parameters
    model = language_models.load(model_name(parameters, work.spec), work.device, parameters["dtype"])
    context, stride = window_sizes(parameters, model)
    tokenizer, (own, pairing) = work.load(), own_tokenizer(model, work.spec)
    columns = min(model.columns, tokenizer.id_limit) if parameters["ignore_padding"] else model.columns
    scoring = Scoring(model, tokenizer, own, columns, context, stride, parameters["batch_tokens"], work.threads)
    details: dict[str, Any] = {"model": about(scoring), "pairing": pairing}
    tally = Tally()
    try:
        for batch in batches(corpora.read(work.text, tally), size=BYTES_AT_ONCE, size_of=lambda one: len(one.text)):
            groups = [group_of(one.key) for one in batch]
            scoring.read([one.text for one in batch], groups, [one.opens for one in batch])
            work.progress(tally.bytes)
    except NoNumber as reason:
        return Findings(details=details, status="failed", reason=str(reason))
    details |= {
        "unscored_tokens": scoring.unscored,
        "documents_without_word_positions": scoring.unspelled,
    }
    findings = _findings(scoring.state)
    kept = state_arrays.of_counters(scoring.state.counters)
    return replace(findings, details={**details, **findings.details}, tally=tally, state=kept)


def rederive(state: State, case: Case) -> Findings:
    """Every number again from the sums of bits, without the model."""
    del case
    sums = language_model.empty()
    sums.counters.update(state_arrays.counters_of(state))
    return _findings(sums)


def _findings(state: CorpusState) -> Findings:
    groups = {name: sums.tolist() for name, sums in sorted(state.counters.items())}
    return Findings(tuple(language_model.measure(state)), {"groups": groups})


def about(scoring: Scoring) -> dict[str, Any]:
    """Describe the model and how it is run, for the record."""
    model = scoring.model
    return {
        "name": model.folder.name,
        "sha256": model.folder.digest(),
        "architecture": type(model.network).__name__,
        "parameters": model.folder.parameters(),
        "device": model.device,
        "gpu": model.gpu(),
        "dtype": model.dtype,
        "libraries": {name: version_of(name) for name in ("torch", "transformers")},
        "columns": model.columns,
        "counted_columns": scoring.columns,
        "bos": model.bos,
        "context": scoring.context,
        "stride": scoring.stride,
        "stores_logits": model.head == "whole",
    }


def own_tokenizer(model: CausalModel, row: TokenizerSpec) -> tuple[Tokenizer | None, str]:
    """Load the tokenizer that the model ships, unless it is the row's file; and say how the pairing is checked.

    An engine has been compared with the library at home in that file on the text of the integrity check alone.
    """
    try:
        path = vocabulary_file.find(str(model.folder.path))
        at_home = TOKENIZER.parse(row.name).engine is None
        if at_home and row.path is not None and vocabulary_file.digest(path) == vocabulary_file.digest(Path(row.path)):
            return None, f"{path.name} of the model is the tokenizer's file"
        return tokenizers.load(file.row(f"file:{path}", path, {})), f"ids compared with {path.name} of the model"
    except InputError as reason:
        return None, f"{UNCHECKED}, only that ids fit: {reason}"


def _unchecked(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Name rows whose tokenizer may be another than the model's."""
    del data
    rows = [one.case.tokenizer for one in results if str(one.details.get("pairing")).startswith(UNCHECKED)]
    if rows:
        yield f"Not checked whether the tokenizer is the model's: {', '.join(rows)}."


TABLE = Table(
    "Next token",
    columns=(
        Column("bits_per_byte", "bits/byte", interval=True),
        Column("next_token_nll", "NLL"),
        Column("next_token_entropy", "entropy"),
        *(Column("word_position_nll", f"NLL at {place}", part=place) for place in word_positions.PARTS),
    ),
    notes=(
        _unchecked,
        "NLL and entropy: bits per token; of these, bits/byte alone compares tokenizers.",
        "NLL at 0, 1, 2, 3+: by the number of tokens since the word's start.",
    ),
)

BY_LENGTH = Table(
    "Next token by length",
    columns=(
        *(Column("token_length_nll", f"NLL of {part}", part=part) for part in language_model.LENGTHS),
        *(Column("token_length_bits_per_byte", f"/byte {part}", part=part) for part in language_model.LENGTHS),
    ),
    notes=("NLL of the tokens of 1, 2, 3, ... bytes, in bits: for a token, and for each of its bytes.",),
)

PLOTS = (
    Plot(
        Table("Bits per byte", columns=(Column("bits_per_byte", "bits/byte", interval=True),)),
        "Bits that the model needs for a byte of the text: what compares tokenizers. Lines: 95 % intervals.",
    ),
    Plot(
        Table(
            "Next token by place in the word",
            columns=(Column("word_position_nll", "{part}", each=True),),
        ),
        "Bits that the model needs for a token, by the number of tokens since the start of its word: 0 begins it.",
    ),
    Plot(
        Table(
            "Next token by length",
            columns=(Column("token_length_bits_per_byte", "{part}", each=True),),
        ),
        "Bits that the model needs for a byte of tokens of 1, 2, 3, ... bytes.",
    ),
)

BENCHMARKS = (
    Benchmark(
        "next_token_entropy",
        "entropy, NLL and bits per byte of a causal language model over a corpus; by place in a word and length",
        run,
        corpus="required",
        whole_text=True,
        metrics=tuple(metric.name for metric in language_model.REPORTED),
        tables=(TABLE, BY_LENGTH),
        plots=PLOTS,
        parameters={
            "model": MODEL_OF_ROW,
            "context": 0,
            "stride": 0,
            "batch_tokens": 4096,
            "dtype": AUTO,
            "ignore_padding": False,
        },
        settle=settle,
        rederive=rederive,
    ),
)
