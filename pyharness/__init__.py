"""A benchmarking harness for tokenizers.

import pyharness

result = pyharness.run(tokenizers=["raw_bytes"], corpora=["sample"], benchmarks=["compression"])
result.to_dataframe()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyharness.commands.session import Result, read, run

__all__ = ["Result", "read", "run"]


def __getattr__(name: str) -> Any:
    # The imports behind these names are heavy; `import pyharness` stays light.
    if name == "__version__":
        from importlib.metadata import version

        return version("pyharness")
    if name in __all__:
        from pyharness.commands import session

        return getattr(session, name)
    raise AttributeError(f"module 'pyharness' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
