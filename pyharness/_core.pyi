"""The native core, in the order of its rooms (csrc/core).

Only ``pyharness.kernels``, ``bpe`` and ``symbol_models`` import it; they carry the documentation.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from pyharness.vocabularies.patterns.tables import SplitTable

# ---- machine

def describe_array(array: Any, name: str) -> tuple[int, int, str, int, tuple[int, ...], tuple[int, ...], bool, int]: ...
def instruction_sets() -> list[str]: ...
def instruction_set() -> str: ...

# ---- text

UNICODE_VERSION: str
REGEX_VERSION: str

def text_statistics(texts: Sequence[str | bytes], threads: int = 1) -> NDArray[np.int64]: ...
def segment_ends(texts: Sequence[str | bytes], threads: int = 1) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def character_splits(
    ids: NDArray[np.uint32], offsets: NDArray[np.int64], flags: NDArray[np.uint8]
) -> NDArray[np.int64]: ...

# ---- splitting

SPLIT_UNICODE_VERSION: str

class CompiledSplitter:
    def __init__(self, tables: Sequence[SplitTable]) -> None: ...
    def keeps_all(self) -> bool: ...

def split_texts(
    pattern: str | CompiledSplitter, texts: Sequence[str | bytes], threads: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def split_and_remove(
    pattern: str | CompiledSplitter, texts: Sequence[str | bytes], threads: int = 1
) -> tuple[list[bytes], NDArray[np.int64], NDArray[np.int64]]: ...

# ---- merging

class BpeEncoder:
    def __init__(self, model: Any) -> None: ...
    def encode(self, base: NDArray[np.uint32]) -> NDArray[np.uint32]: ...
    def encode_batch(
        self, base: NDArray[np.uint32], base_offsets: NDArray[np.int64], threads: int = 1
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...

class PieceMerger:
    def __init__(
        self,
        model: Any,
        whole_pieces: bool = False,
        expansion: tuple[NDArray[np.uint32], NDArray[np.int64]] | None = None,
    ) -> None: ...
    def encode_batch(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64], threads: int = 1
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...

def philox(counter: Sequence[int], key: int) -> list[int]: ...

# ---- encoding

class TextEncoder:
    def __init__(
        self,
        model: Any,
        pattern: str | CompiledSplitter | None,
        whole_pieces: bool,
        expansion: tuple[NDArray[np.uint32], NDArray[np.int64]] | None,
        cache_bytes: int,
    ) -> None: ...
    def encode(self, text: str | bytes, /) -> NDArray[np.uint32]: ...
    def encode_batch(
        self, texts: Sequence[str | bytes], threads: int = 1
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def encode_pieces(
        self, texts: Sequence[str | bytes], ends: NDArray[np.int64], offsets: NDArray[np.int64], threads: int = 1
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
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
        fallback: NDArray[np.uint32],
        unknown: int | None,
        fuse_unknown: bool,
        whole_pieces: bool,
        longest_match: bool,
        expansion: tuple[NDArray[np.uint32], NDArray[np.int64]] | None,
    ) -> None: ...
    def encode_batch(
        self,
        texts: Sequence[str | bytes],
        pieces: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
        threads: int,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def encode_pieces(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def sample_batch(
        self,
        texts: Sequence[str | bytes],
        pieces: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
        probability: float,
        seed: int,
        documents: NDArray[np.uint64],
        positions: NDArray[np.uint64],
        threads: int,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...

class AddedTokenCutter:
    def __init__(self, tokens: Sequence[tuple[str, int, bool, bool, bool, bool]]) -> None: ...
    def cut(
        self, texts: Sequence[str | bytes], threads: int
    ) -> tuple[Sequence[str | bytes], NDArray[np.int64], NDArray[np.int64]] | None: ...

def join_stretches(
    ids: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    items: NDArray[np.int64],
    item_offsets: NDArray[np.int64],
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
def decode(data: NDArray[np.uint8], offsets: NDArray[np.int64], ids: NDArray[np.uint32]) -> bytes: ...

# ---- training

class PieceCounter:
    def __init__(self, pattern: str | CompiledSplitter, max_bytes: int) -> None: ...
    def add(self, texts: Sequence[str | bytes], threads: int) -> None: ...
    def pieces(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint64]]: ...

def train_bpe(
    *,
    symbols: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    weights: NDArray[np.uint64],
    data: NDArray[np.uint8],
    token_offsets: NDArray[np.int64],
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
    symbols: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    weights: NDArray[np.uint64],
    data: NDArray[np.uint8],
    token_offsets: NDArray[np.int64],
    unreachable: NDArray[np.uint32],
    tokens: int,
    min_frequency: int,
    max_token_length: int,
    max_token_characters: int,
    tie_rule: str,
    cascade: bool,
    piece_rules: tuple[Any, NDArray[np.uint32], NDArray[np.uint32], NDArray[np.bool_]] | None,
    denies: Callable[[bytes], bool] | None,
    progress: Callable[[int], None] | None,
) -> dict[str, Any]: ...
def demolition(
    *,
    data: NDArray[np.uint8],
    token_offsets: NDArray[np.int64],
    rules: NDArray[np.uint32],
    scaffold: NDArray[np.bool_],
    rule: str,
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...

# ---- reachability

class _MergeGraph(TypedDict):
    derivable: NDArray[np.bool_]
    depth: NDArray[np.int32]
    children: NDArray[np.int64]
    derivations: NDArray[np.int64]
    orphan_rules: NDArray[np.int64]
    shadowed_rules: NDArray[np.int64]
    duplicates: NDArray[np.uint32]
    rule_count: int

def leaf_order(
    parts: NDArray[np.uint32], counts: NDArray[np.uint64], removable: NDArray[np.bool_]
) -> NDArray[np.uint32]: ...
def merge_graph(model: Any) -> _MergeGraph: ...
def self_tokenization(
    model: Any, threads: int = 1
) -> tuple[NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]: ...

# ---- pairs

def pair_histogram(
    tokens: Any, offsets: Any = None, weights: Any = None, *, threads: int = 1
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64]]: ...
def check_segments(offsets: Any, weights: Any, total: int, *, threads: int = 1) -> None: ...
def token_frequency(
    ids: NDArray[np.uint32], offsets: NDArray[np.int64], groups: NDArray[np.uint8], out: NDArray[np.uint64]
) -> None: ...
def id_digests(
    ids: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    keys: NDArray[np.uint64],
    token_bytes: NDArray[np.uint16] | None,
) -> tuple[int, NDArray[np.uint32], NDArray[np.uint32]]: ...

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
    logits: Any,
    targets: Any,
    states: Any,
    *,
    first_column: int = 0,
    temperature: float = 1.0,
    threads: int = 1,
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

_SymbolIds: TypeAlias = NDArray[np.uint8] | NDArray[np.uint32]
_Nats: TypeAlias = NDArray[np.float64]
_Trie: TypeAlias = tuple[int, NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint32]]

class SymbolCounter:
    def __init__(self, alphabet_size: int, order: int, max_bytes: int) -> None: ...
    def add(self, ids: _SymbolIds, offsets: NDArray[np.int64], threads: int) -> None: ...
    def symbols(self) -> int: ...
    def take_model(self, threads: int) -> SymbolModel: ...

class SymbolModel:
    def __init__(self, trie: _Trie, threads: int) -> None: ...
    def score(self, ids: _SymbolIds, offsets: NDArray[np.int64], threads: int) -> tuple[_Nats, _Nats, _Nats]: ...
    def probabilities(self, context: NDArray[np.uint32]) -> _Nats: ...
    def trie(self) -> _Trie: ...
