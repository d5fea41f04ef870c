"""The kernels on CUDA devices. Only ``pyharness.kernels`` imports it, and carries the documentation."""

from collections.abc import Callable
from typing import Any, TypedDict

# ---- devices

class _DeviceInfo(TypedDict):
    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    l2_bytes: int
    memory_bytes: int
    free_bytes: int
    clock_khz: int
    memory_clock_khz: int
    memory_bus_bits: int
    driver_version: int
    runtime_version: int
    bus_id: str

def device_count() -> int: ...
def why_unavailable() -> str | None: ...
def device_info(device: int = 0) -> _DeviceInfo: ...
def is_capturing(stream: int | None = None) -> bool: ...

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
    stream: int | None = None,
    allocate: Callable[[int, str], Any] | None = None,
) -> None: ...
def entropy_workspace(rows: int, columns: int) -> int: ...
def entropy_states(
    logits: Any,
    targets: Any,
    states: Any,
    *,
    first_column: int = 0,
    temperature: float = 1.0,
    stream: int | None = None,
    allocate: Callable[[int, str], Any] | None = None,
) -> None: ...
def entropy_merge(
    states: Any,
    other: Any,
    *,
    temperature: float = 1.0,
    stream: int | None = None,
    allocate: Callable[[int, str], Any] | None = None,
) -> None: ...
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
    stream: int | None = None,
    allocate: Callable[[int, str], Any] | None = None,
) -> None: ...
def check_targets(
    targets: Any, vocab_size: int, *, stream: int | None = None, allocate: Callable[[int, str], Any] | None = None
) -> None: ...

# ---- pairs

class PairCounter:
    def __init__(
        self, method: str, allocate: Callable[[int, str], Any], device: int = 0, tuning: dict[str, int] = ...
    ) -> None: ...
    def add(
        self, tokens: Any, first: int = 0, offsets: Any = None, weights: Any = None, stream: int | None = None
    ) -> None: ...
    def order(self, stream: int | None = None, ordered: bool = True) -> int: ...
    def write(self, left: Any, right: Any, count: Any, stream: int | None = None) -> None: ...

def find_bad_id(
    tokens: Any, narrow: Any, *, stream: int | None = None, allocate: Callable[[int, str], Any] | None = None
) -> int: ...
def check_segments(
    offsets: Any,
    weights: Any,
    total: int,
    *,
    stream: int | None = None,
    allocate: Callable[[int, str], Any] | None = None,
) -> None: ...
def copy_array(to: Any, from_: Any, stream: int | None = None) -> None: ...

# ---- yardsticks

def add_words(words: Any, sum: Any, stream: int | None = None) -> None: ...
def hold(cycles: int, stream: int | None = None) -> None: ...

class PairRuns:
    def __init__(
        self, tokens: Any, id_bits: int, allocate: Callable[[int, str], Any], stream: int | None = None
    ) -> None: ...
    def __len__(self) -> int: ...
    def write(self, keys: Any, counts: Any, stream: int | None = None) -> None: ...
