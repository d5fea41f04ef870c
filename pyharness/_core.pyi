"""The native core, in the order of its rooms (csrc/core).

Only ``pyharness.kernels``, ``bpe`` and ``curriculum`` import it; they carry the documentation.
"""

from collections.abc import Callable, Sequence
from typing import Any, Self, TypeAlias, TypedDict, overload

import numpy as np
from numpy.typing import NDArray

from pyharness.vocabularies.patterns.tables import SplitTable

_Texts: TypeAlias = Sequence[str | bytes]
_Bytes: TypeAlias = NDArray[np.uint8]
_Ids: TypeAlias = NDArray[np.uint32]
_Offsets: TypeAlias = NDArray[np.int64]
_Laid: TypeAlias = tuple[_Ids, _Offsets]  # ids end to end, and offsets

# ---- machine

def describe_array(array: Any, name: str) -> tuple[int, int, str, int, tuple[int, ...], tuple[int, ...], bool, int]: ...
def instruction_sets() -> list[str]: ...
def instruction_set() -> str: ...

# ---- text

UNICODE_VERSION: str
REGEX_VERSION: str

def text_statistics(texts: _Texts, threads: int = 1) -> _Offsets: ...
def segment_ends(texts: _Texts, threads: int = 1) -> tuple[_Offsets, _Offsets]: ...
def utf8_size(text: str) -> int | None: ...

class TextRun:
    def __len__(self) -> int: ...
    def pieces(self) -> list[tuple[str, str, bool, bool, str]]: ...
    def set_work(self, work: str) -> None: ...
    def within(self, most_bytes: int) -> tuple[Self, int | None]: ...
    def sums(self) -> tuple[int, int, int]: ...

class ReadTexts(Sequence[str]):
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def add(self, text: str, key: str, opens: bool) -> None: ...
    def take(self, run: TextRun, first: int, most: int, prefix: str) -> int: ...
    def digests(self) -> tuple[_Bytes, _Bytes]: ...
    def sizes(self) -> _Offsets: ...
    def opens(self) -> NDArray[np.bool_]: ...
    @property
    def characters(self) -> int: ...

class JsonTexts:
    def __init__(self, names: Sequence[bytes], most_bytes: int, beginning_bytes: int) -> None: ...
    def of(self, lines: bytes) -> list[TextRun | bytes | None]: ...

def utf8_flags(data: _Bytes, offsets: _Offsets) -> _Bytes: ...
def character_splits(ids: _Ids, offsets: _Offsets, flags: _Bytes) -> _Offsets: ...

# ---- splitting

SPLIT_UNICODE_VERSION: str

class CompiledSplitter:
    def __init__(self, tables: Sequence[SplitTable]) -> None: ...
    def keeps_all(self) -> bool: ...

def split_texts(pattern: str | CompiledSplitter, texts: _Texts, threads: int = 1) -> tuple[_Offsets, _Offsets]: ...
def split_and_remove(
    pattern: str | CompiledSplitter, texts: _Texts, threads: int = 1
) -> tuple[list[bytes], _Offsets, _Offsets]: ...

# ---- merging

class BpeEncoder:
    def __init__(self, model: Any) -> None: ...
    def encode(self, base: _Ids) -> _Ids: ...
    def encode_batch(self, base: _Ids, base_offsets: _Offsets, threads: int = 1) -> _Laid: ...

class PieceMerger:
    def __init__(self, model: Any, whole_pieces: bool = False, expansion: _Laid | None = None) -> None: ...
    def encode_batch(self, data: _Bytes, offsets: _Offsets, threads: int = 1) -> _Laid: ...

def philox(counter: Sequence[int], key: int) -> list[int]: ...

# ---- encoding

class TextEncoder:
    def __init__(
        self,
        model: Any,
        pattern: str | CompiledSplitter | None,
        whole_pieces: bool,
        expansion: _Laid | None,
        cache_bytes: int,
    ) -> None: ...
    def encode(self, text: str | bytes, /) -> _Ids: ...
    def encode_batch(self, texts: _Texts, threads: int = 1) -> _Laid: ...
    def encode_pieces(self, texts: _Texts, ends: _Offsets, offsets: _Offsets, threads: int = 1) -> _Laid: ...
    def cached_bytes(self) -> int: ...

class SymbolEncoder:
    def __init__(
        self,
        model: Any,
        *,
        characters: bool,
        alphabet: Sequence[tuple[bytes, int]],
        prefix: bytes,
        suffix: bytes,
        fallback: _Ids,
        unknown: int | None,
        fuse_unknown: bool,
        whole_pieces: bool,
        longest_match: bool,
        expansion: _Laid | None,
    ) -> None: ...
    def encode_batch(self, texts: _Texts, pieces: tuple[_Offsets, _Offsets] | None, threads: int) -> _Laid: ...
    def encode_pieces(self, data: _Bytes, offsets: _Offsets, threads: int) -> _Laid: ...
    def sample_batch(
        self,
        texts: _Texts,
        pieces: tuple[_Offsets, _Offsets] | None,
        probability: float,
        seed: int,
        documents: NDArray[np.uint64],
        positions: NDArray[np.uint64],
        threads: int,
    ) -> _Laid: ...

class AddedTokenCutter:
    def __init__(self, tokens: Sequence[tuple[str, int, bool, bool, bool, bool]]) -> None: ...
    def cut(self, texts: _Texts, threads: int) -> tuple[_Texts, _Offsets, _Offsets] | None: ...

def join_stretches(ids: _Ids, offsets: _Offsets, items: _Offsets, item_offsets: _Offsets) -> _Laid: ...
def decode(data: _Bytes, offsets: _Offsets, ids: _Ids) -> bytes: ...

# ---- training

class PieceCounter:
    def __init__(self, pattern: str | CompiledSplitter, max_bytes: int) -> None: ...
    def add(self, texts: _Texts, threads: int) -> None: ...
    def pieces(self) -> tuple[_Bytes, _Offsets, NDArray[np.uint64]]: ...

def train_bpe(
    *,
    symbols: _Ids,
    offsets: _Offsets,
    weights: NDArray[np.uint64],
    data: _Bytes,
    token_offsets: _Offsets,
    vocabulary_size: int,
    min_frequency: int,
    max_token_length: int,
    max_token_characters: int,
    prefix: str,
    text_lengths: tuple[NDArray[np.uint64], NDArray[np.uint64]] | None,
    tie_rule: str,
    scaffold: bool,
    keep_events: bool,
    progress: Callable[[int], None] | None,
) -> dict[str, Any]: ...
def extend_bpe(
    *,
    model: Any,
    symbols: _Ids,
    offsets: _Offsets,
    weights: NDArray[np.uint64],
    data: _Bytes,
    token_offsets: _Offsets,
    unreachable: _Ids,
    tokens: int,
    min_frequency: int,
    max_token_length: int,
    max_token_characters: int,
    tie_rule: str,
    cascade: bool,
    piece_rules: tuple[Any, _Ids, _Ids, NDArray[np.bool_]] | None,
    denies: Callable[[bytes], bool] | None,
    progress: Callable[[int], None] | None,
) -> dict[str, Any]: ...
def demolition(
    *, data: _Bytes, token_offsets: _Offsets, rules: _Ids, scaffold: NDArray[np.bool_], rule: str
) -> _Laid: ...

# ---- reachability

class _MergeGraph(TypedDict):
    derivable: NDArray[np.bool_]
    depth: NDArray[np.int32]
    children: _Offsets
    derivations: _Offsets
    orphan_rules: _Offsets
    shadowed_rules: _Offsets
    duplicates: _Ids
    rule_count: int

def leaf_order(parts: _Ids, counts: NDArray[np.uint64], removable: NDArray[np.bool_]) -> _Ids: ...
def merge_graph(model: Any) -> _MergeGraph: ...
def self_tokenization(model: Any, threads: int = 1) -> tuple[_Bytes, _Ids, _Ids, _Ids, _Offsets]: ...

# ---- pairs

def pair_histogram(
    tokens: Any, offsets: Any = None, weights: Any = None, *, threads: int = 1
) -> tuple[_Ids, _Ids, NDArray[np.uint64]]: ...
def check_segments(offsets: Any, weights: Any, total: int, *, threads: int = 1) -> None: ...
def token_frequency(ids: _Ids, offsets: _Offsets, groups: _Bytes, out: NDArray[np.uint64]) -> None: ...
def id_digests(
    ids: _Ids, offsets: _Offsets, keys: NDArray[np.uint64], token_bytes: NDArray[np.uint16] | None
) -> tuple[int, _Ids, _Ids]: ...

# ---- entropy

def entropy(
    logits: Any,
    targets: Any = None,
    *,
    temperature: float = 1.0,
    unit_scale: float = 1.0,
    entropy: Any = None,
    log_sum_exp: Any = None,
    nll: Any = None,
    max_probability: Any = None,
    argmax: Any = None,
    margin: Any = None,
    threads: int = 1,
) -> None: ...
def entropy_workspace(rows: int, columns: int) -> int: ...
def entropy_states(
    logits: Any, targets: Any, states: Any, *, first_column: int = 0, temperature: float = 1.0, threads: int = 1
) -> None: ...
def entropy_merge(states: Any, other: Any, *, temperature: float = 1.0, threads: int = 1) -> None: ...
def entropy_finish(
    states: Any,
    *,
    temperature: float = 1.0,
    unit_scale: float = 1.0,
    entropy: Any = None,
    log_sum_exp: Any = None,
    nll: Any = None,
    max_probability: Any = None,
    argmax: Any = None,
    margin: Any = None,
    threads: int = 1,
) -> None: ...
def check_targets(targets: Any, vocab_size: int, *, threads: int = 1) -> None: ...
def entropy_reference(
    logits: Any,
    targets: Any = None,
    *,
    temperature: float = 1.0,
    unit_scale: float = 1.0,
    entropy: Any = None,
    log_sum_exp: Any = None,
    nll: Any = None,
    max_probability: Any = None,
    argmax: Any = None,
    margin: Any = None,
) -> None: ...

# ---- symbols

_SymbolIds: TypeAlias = _Bytes | _Ids
_Nats: TypeAlias = NDArray[np.float64]
_Trie: TypeAlias = tuple[int, NDArray[np.uint64], _Ids, NDArray[np.uint64], _Ids]

class SymbolCounter:
    def __init__(self, alphabet_size: int, order: int, max_bytes: int) -> None: ...
    def add(self, ids: _SymbolIds, offsets: _Offsets, threads: int) -> None: ...
    def symbols(self) -> int: ...
    def take_model(self, threads: int) -> SymbolModel: ...

class SymbolModel:
    def __init__(self, trie: _Trie, threads: int) -> None: ...
    def score(self, ids: _SymbolIds, offsets: _Offsets, threads: int) -> tuple[_Nats, _Nats, _Nats]: ...
    def probabilities(self, context: _Ids) -> _Nats: ...
    def trie(self) -> _Trie: ...

# ---- curriculum

class GroupCounter:
    def __init__(
        self, epsilon: float, strict: bool, row_quantile: float | None, id_limit: int, max_bytes: int
    ) -> None: ...
    def add(self, ids: _SymbolIds, signal: NDArray[np.float64], offsets: _Offsets, threads: int) -> None: ...
    def distinct(self) -> int: ...
    def total(self) -> int: ...
    def first(self, most: int, seed: int | None) -> tuple[_Ids, _Offsets, NDArray[np.uint64]]: ...

class FixpointEncoder:
    def __init__(self, data: _Bytes, offsets: _Offsets) -> None: ...
    def encode(self, symbols: _SymbolIds, offsets: _Offsets, threads: int) -> _Laid: ...
