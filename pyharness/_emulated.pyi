"""The kernels of ``_cuda`` on the emulator: host memory, for tests. Built in editable installs only."""

from pyharness._cuda import PairCounter as PairCounter
from pyharness._cuda import PairRuns as PairRuns
from pyharness._cuda import add_words as add_words
from pyharness._cuda import check_segments as check_segments
from pyharness._cuda import check_targets as check_targets
from pyharness._cuda import copy_array as copy_array
from pyharness._cuda import device_count as device_count
from pyharness._cuda import device_info as device_info
from pyharness._cuda import entropy as entropy
from pyharness._cuda import entropy_finish as entropy_finish
from pyharness._cuda import entropy_merge as entropy_merge
from pyharness._cuda import entropy_states as entropy_states
from pyharness._cuda import entropy_workspace as entropy_workspace
from pyharness._cuda import find_bad_id as find_bad_id
from pyharness._cuda import hold as hold
from pyharness._cuda import is_capturing as is_capturing
from pyharness._cuda import why_unavailable as why_unavailable

class EmulatorError(RuntimeError): ...

def set_seed(seed: int) -> None: ...
def begin_capture() -> None: ...
def end_capture() -> None: ...
def replay() -> None: ...
def set_entropy_tuning(
    *,
    threads: int = 256,
    blocks: int = 1024,
    loads_per_part: int = 1024,
    loads_of_short_rows: int = 256,
    most_in_cluster: int = 16,
) -> None: ...
