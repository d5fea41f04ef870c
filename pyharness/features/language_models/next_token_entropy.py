"""Next-token entropy: a causal language model's predictions of a corpus in its own tokens.

The row's tokenizer must be the model's. If the model ships another file than the row's, its ids are compared on all of
the text, and a difference fails the case. Without ``model=`` the model is from the row's tokenizer folder or
repository. So the cases of rows that each have a model share their parameters, and one table shows them.

A model may have more logits than the tokenizer has ids: padding. It predicts them, so they count, unless
``ignore_padding`` leaves out all ids that the tokenizer lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import corpora, tokenizers
from pyharness.benchmarks import Benchmark, Findings, NoFindings, PassRun, Work
from pyharness.corpora.streaming import batches
from pyharness.features.language_models import folder, loader, metrics, windows
from pyharness.features.language_models.causal import CausalModel
from pyharness.features.language_models.metrics import Bits, Scores
from pyharness.metrics.counting import state_arrays, words
from pyharness.metrics.counting.state import CorpusState
from pyharness.plugins.specification import TOKENIZER
from pyharness.statistics.jackknife import group_of
from pyharness.system.environment import version_of
from pyharness.tokenizers.families import file
from pyharness.types import (
    Case,
    CaseResult,
    Column,
    Corpus,
    HasVocabulary,
    Ids,
    InputError,
    Plot,
    State,
    Table,
    Tally,
    Tokenizer,
    TokenizerSpec,
    Tokens,
    Unsupported,
    Vocabulary,
)
from pyharness.vocabularies.files import vocabulary_file

MOST_LOGITS = 1 << 28  # stored at once if a model must, and one window does not need more: 1 GiB of float32
MODEL_OF_ROW = ""
DTYPES = {"cpu": "float32", "cuda": "bfloat16"}
AUTO = "auto"
UNCHECKED = "not checked"
BYTES_AT_ONCE = 1 << 16  # characters of text, whose windows are sorted by length
BY_LENGTH = Table(
    "Next token by length",
    columns=(
        *(Column("token_length_nll", f"NLL of {part}", part=part) for part in metrics.LENGTHS),
        *(Column("token_length_bits_per_byte", f"NLL/byte of {part}", part=part) for part in metrics.LENGTHS),
    ),
    notes=("NLL of tokens of 1, 2, 3, ... bytes, in bits per token and per byte.",),
)
PLOTS = (
    Plot(
        Table("Bits per byte", columns=(Column("bits_per_byte", "bits/byte", interval=True),)),
        "Bits that the model needs per byte of text, which compare tokenizers. Lines: 95 % CIs.",
    ),
    Plot(
        Table("Next token by place in the word", columns=(Column("word_position_nll", "{part}", each=True),)),
        "Bits that the model needs for a token, by the number of tokens since the start of its word: 0 begins it.",
    ),
    Plot(
        Table("Next token by length", columns=(Column("token_length_bits_per_byte", "{part}", each=True),)),
        "Bits that the model needs for a byte of tokens of 1, 2, 3, ... bytes.",
    ),
)


class NoNumber(Exception):
    """There is no correct number; the message is the reason."""


@dataclass(slots=True)
class Scoring:
    """One pass of a model over documents."""

    model: CausalModel
    tokenizer: Tokenizer
    own: Tokenizer | None  # the tokenizer that the model ships; None: the row's file, or none that can be loaded
    columns: int  # logits that count: all of the model's, or without padding
    context: int
    stride: int
    batch_tokens: int
    threads: int = 1
    vocabulary: Vocabulary | None = field(init=False)
    state: CorpusState = field(default_factory=metrics.empty)
    documents: int = 0  # texts: documents, or pieces of cut ones
    unscored: int = 0  # tokens without a prediction
    unspelled: int = 0  # texts whose tokens do not spell them, or hide their bytes

    def __post_init__(self) -> None:
        """Read the bytes of tokens, if the tokenizer exposes them; bound the logits of a batch."""
        if self.model.head == "whole":
            self.batch_tokens = min(self.batch_tokens, MOST_LOGITS // self.model.columns)
        self.vocabulary = self.tokenizer.vocabulary() if isinstance(self.tokenizer, HasVocabulary) else None

    def read(self, texts: Sequence[str], groups: Sequence[int], opens: Sequence[bool] | None = None) -> None:
        """Score texts. ``opens`` says which are the first of a document; without it, all are.

        Raises:
            NoNumber: the tokenizer is not the model's, or a prediction is no probability.
        """
        tokens = self.tokenizer.encode_batch(texts, self.threads)
        self._check_pairing(texts, tokens)
        bos = np.array([] if self.model.bos is None else [self.model.bos], np.int64)
        sequences = [np.concatenate((bos, tokens.document(index)), dtype=np.int64) for index in range(len(tokens))]
        entropy, nll = self._predictions(sequences)
        for index, text in enumerate(texts):
            bits = entropy[index][len(bos) :], nll[index][len(bos) :]
            self.add(text, tokens.document(index), bits, groups[index], opens is None or opens[index])
        self.documents += len(texts)

    def add(self, text: str, ids: Ids, bits: tuple[Bits, Bits], group: int, opens: bool) -> None:
        """Count one text with the entropy and the NLL of its tokens, in bits; NaN for a token without a prediction."""
        entropy, nll = bits
        stops = None if self.vocabulary is None else words.token_stops(text, ids, self.vocabulary)
        positions = None if stops is None else words.places_of(text, stops)
        sizes = None if stops is None else np.diff(stops, prepend=0)
        unscored = len(ids) > 0 and bool(np.isnan(nll[0]))
        left_out = self._bytes_of_first(text, ids, stops) if unscored else 0
        self.unscored += unscored
        self.unspelled += stops is None
        metrics.update(self.state, group, Scores(text, entropy, nll, left_out, positions, sizes, opens))

    def _bytes_of_first(self, text: str, ids: Ids, stops: NDArray[np.int64] | None) -> int:
        whole = len(text.encode())
        if len(ids) == 1:
            return whole
        if self.vocabulary is None:
            return min(len(self.tokenizer.decode(ids[:1])), whole)
        # If tokens do not spell the text, the first may have more bytes than all of it.
        return min(len(self.vocabulary[int(ids[0])]), whole) if stops is None else int(stops[0])

    def _check_pairing(self, texts: Sequence[str], tokens: Tokens) -> None:
        largest = int(tokens.ids.max(initial=0))
        if largest >= self.columns:
            raise NoNumber(
                f"the tokenizer is not the model's: id {largest:,} is beyond the {self.columns:,} ids that "
                f"{self.model.folder.name!r} predicts"
            )
        if self.own is None:
            return
        expected = self.own.encode_batch(texts, self.threads)
        for at in range(len(texts)):
            mine, theirs = tokens.document(at), expected.document(at)
            if not np.array_equal(mine, theirs):
                raise NoNumber(
                    f"the tokenizer is not the model's: document {self.documents + at + 1} begins {mine[:8].tolist()} "
                    f"here and {theirs[:8].tolist()} by the tokenizer in {str(self.model.folder.path)!r}"
                    + (" (they differ further on)" if np.array_equal(mine[:8], theirs[:8]) else "")
                )

    def _predictions(self, sequences: Sequence[NDArray[np.int64]]) -> tuple[list[Bits], list[Bits]]:
        """Return entropy and NLL in bits of every token of the sequences, NaN for the first."""
        entropy, nll = ([np.full(len(sequence), np.nan) for sequence in sequences] for _ in range(2))
        sliding = windows.sliding_windows(map(len, sequences), self.context, self.stride)
        for batch in windows.batches(sliding, self.batch_tokens):
            scores = self.model.score(windows.Layout.of(sequences, batch), self.columns, self.threads)
            self._distribute(batch, scores, (entropy, nll))
        return entropy, nll

    def _distribute(self, batch: Sequence[windows.Window], scores: Sequence[Any], into: Sequence[list[Bits]]) -> None:
        offset = 0
        for window in batch:
            size = window.stop + 1 - window.first
            for scored, values in zip(scores, into, strict=True):
                part = scored[offset : offset + size]
                if not (valid := part <= metrics.MOST_BITS).all():
                    token = window.first + int(np.argmin(valid)) - (self.model.bos is not None)
                    raise NoNumber(
                        f"the model gives {part[~valid][0]} bits for token {token} of document "
                        f"{self.documents + window.sequence + 1}: its predictions are no probabilities"
                    )
                values[window.sequence][window.first : window.stop + 1] = part
            offset += size


# ---------------------------------------------------------------------------------------------- parameters


def settle(parameters: Mapping[str, Any], row: TokenizerSpec, device: str) -> dict[str, Any]:
    """Check parameters and model before anything runs, and fill in the data type, because it decides the numbers.

    Raises:
        InputError: a parameter or the model cannot be used.
        Unsupported: no model is named, and the row comes with none.
    """
    context, stride = parameters["context"], parameters["stride"]
    if context == 1:
        raise InputError("context = 1 leaves nothing to predict from; write 2 or more, or 0 for the model's own")
    if context and stride > context:
        raise InputError(f"stride = {stride} leaves tokens out: it is more than context = {context}")
    if parameters["batch_tokens"] == 0:
        raise InputError("batch_tokens = 0 is too small; write the number of tokens that fit in memory at once")
    dtype = DTYPES[device] if parameters["dtype"] == AUTO else parameters["dtype"]
    if dtype not in loader.DTYPES:
        raise InputError(f"unknown dtype {dtype!r}; known: {AUTO}, {', '.join(loader.DTYPES)}")
    folder.check(model_name(parameters, row))
    return {**parameters, "dtype": dtype}


def model_name(parameters: Mapping[str, Any], row: TokenizerSpec) -> str:
    """Return the name of the model: the given one, or the folder or repository of the row's tokenizer.

    Raises:
        Unsupported: no model is named, and the row comes with none.
    """
    if parameters["model"] != MODEL_OF_ROW:
        return str(parameters["model"])
    home = TOKENIZER.parse(TOKENIZER.parse(row.name).home)
    if home.name == "hf" and home.argument:
        return home.argument
    if row.path is not None and folder.holds_model(Path(row.path).parent):
        return str(Path(row.path).parent)
    raise Unsupported(f"tokenizer {row.name!r} comes with no language model; name one: next_token_entropy?model=FOLDER")


# ---------------------------------------------------------------------------------------------- the case


@dataclass(slots=True)
class ScoringPass:
    """One pass of a model over a corpus. ``merge`` adds the pass over the text behind its own."""

    scoring: Scoring
    pairing: str
    tally: Tally = field(default_factory=Tally)

    def read(self, corpus: Corpus, threads: int, progress: Callable[[int], None]) -> None:
        """Score a corpus, a batch at a time."""
        del threads  # ``scoring`` knows them
        try:
            for batch in batches(
                corpora.read(corpus, self.tally), size=BYTES_AT_ONCE, size_of=lambda one: len(one.text)
            ):
                groups = [group_of(one.key) for one in batch]
                self.scoring.read([one.text for one in batch], groups, [one.opens for one in batch])
                progress(self.tally.bytes)
        except NoNumber as reason:
            raise NoFindings(Findings(details=self._about(), status="failed", reason=str(reason))) from None

    def _about(self) -> dict[str, Any]:
        return {"model": about(self.scoring), "pairing": self.pairing}

    def merge(self, other: ScoringPass) -> None:
        """Add another pass of the same model and tokenizer."""
        self.scoring.state.merge(other.scoring.state)
        self.scoring.documents += other.scoring.documents
        self.scoring.unscored += other.scoring.unscored
        self.scoring.unspelled += other.scoring.unspelled
        self.tally.merge(other.tally)

    def arrays(self) -> State:
        """Return the sums of bits by group, what was left out, the tally, and the digest of the model."""
        left_out = (self.scoring.documents, self.scoring.unscored, self.scoring.unspelled)
        return {
            **state_arrays.of_counters(self.scoring.state.counters),
            **state_arrays.of_tally(self.tally),
            "left out": np.array(left_out, np.int64),
            "model": self._model(),
        }

    def _model(self) -> NDArray[np.uint8]:
        return state_arrays.of_text(self.scoring.model.folder.digest())

    def restore(self, arrays: State) -> None:
        """Invert ``arrays``; raise ``InputError`` for the scores of another model."""
        if not np.array_equal(state_arrays.taken(arrays, "model"), self._model()):
            raise InputError("a part was scored by another model; read all parts with one")
        self.scoring.state = CorpusState.of_sums(state_arrays.counters_of(arrays))
        left_out = state_arrays.taken(arrays, "left out", 3).tolist()
        self.scoring.documents, self.scoring.unscored, self.scoring.unspelled = left_out
        self.tally = state_arrays.tally_of(arrays)

    def findings(self) -> Findings:
        """Return every number, and the sums of bits to keep with a record."""
        details = {
            **self._about(),
            "unscored_tokens": self.scoring.unscored,
            "documents_without_word_positions": self.scoring.unspelled,
        }
        findings = _findings(self.scoring.state)
        kept = state_arrays.of_counters(self.scoring.state.counters)
        return replace(findings, details={**details, **findings.details}, tally=self.tally, state=kept)


def starts(work: Work) -> ScoringPass:
    """Load the model and start its pass over a corpus."""
    parameters = work.case.parameters
    model = loader.load(model_name(parameters, work.spec), work.device, parameters["dtype"])
    context, stride = model.window_sizes(parameters["context"], parameters["stride"])
    tokenizer, (own, pairing) = work.load(), own_tokenizer(model, work.spec)
    columns = min(model.columns, tokenizer.id_limit) if parameters["ignore_padding"] else model.columns
    scoring = Scoring(model, tokenizer, own, columns, context, stride, parameters["batch_tokens"], work.threads)
    return ScoringPass(scoring, pairing)


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again from the sums of bits, without the model."""
    del case
    sums = metrics.empty()
    sums.counters.update(state_arrays.counters_of(state))
    return _findings(sums)


def _findings(state: CorpusState) -> Findings:
    groups = {name: sums.tolist() for name, sums in sorted(state.counters.items())}
    return Findings(tuple(metrics.measure(state)), {"groups": groups})


def about(scoring: Scoring) -> dict[str, Any]:
    """Describe the model and its settings, for the record."""
    model = scoring.model
    return {
        "name": model.folder.name, "sha256": model.folder.digest(), "architecture": type(model.network).__name__,
        "parameters": model.folder.parameters(), "device": model.device, "gpu": model.gpu(), "dtype": model.dtype,
        "libraries": {name: version_of(name) for name in ("torch", "transformers")}, "columns": model.columns,
        "counted_columns": scoring.columns, "bos": model.bos, "context": scoring.context, "stride": scoring.stride,
        "stores_logits": model.head == "whole",
    }  # fmt: skip


def own_tokenizer(model: CausalModel, row: TokenizerSpec) -> tuple[Tokenizer | None, str]:
    """Load the tokenizer that the model ships, to compare ids; return it, and how the pairing is checked, in words.

    It is None if the row runs this very file in its home library, or if the file cannot be loaded. A row with another
    engine is compared even on the same file: the integrity check has seen only the front of the text.
    """
    try:
        path = vocabulary_file.find(str(model.folder.path))
        at_home = TOKENIZER.parse(row.name).engine is None
        if at_home and row.path is not None and vocabulary_file.digest(path) == vocabulary_file.digest(Path(row.path)):
            return None, f"{path.name} of the model is the tokenizer's file"
        return tokenizers.load(file.row(f"file:{path}", path, {})), f"ids compared with {path.name} of the model"
    except InputError as reason:
        return None, f"{UNCHECKED}, only that ids fit: {reason}"


def _note_unchecked(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Name rows whose tokenizer may differ from the model's."""
    del data
    rows = [result.case.tokenizer for result in results if str(result.details.get("pairing")).startswith(UNCHECKED)]
    if rows:
        yield f"Not checked whether the tokenizer is the model's: {', '.join(rows)}."


TABLE = Table(
    "Next token",
    columns=(
        Column("bits_per_byte", "bits/byte", interval=True),
        Column("next_token_nll", "NLL"),
        Column("next_token_entropy", "entropy"),
        *(Column("word_position_nll", f"NLL {place}", part=place) for place in words.PARTS),
    ),
    notes=(
        _note_unchecked,
        "NLL and entropy: bits per token. Only bits/byte compares tokenizers.",
        "NLL 0, 1, 2, 3+: by place in the word. NLL outside: tokens without a letter or digit of a word.",
    ),
)


BENCHMARKS = (
    Benchmark(
        "next_token_entropy",
        "entropy, NLL and bits per byte of a causal language model over a corpus; by place in a word and length",
        PassRun(starts),
        corpus="required",
        whole_text=True,
        place=9,
        metrics=metrics.REPORTED,
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
