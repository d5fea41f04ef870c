"""What may differ between the entropy of a backend and that of the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np

from backends import Backend
from pyharness.kernels import EntropyOutputs
from pyharness.kernels.entropy import OUTPUTS

ULP = 2.0**-23  # float32's, relative


def assert_close(backend: Backend, results: EntropyOutputs, expected: dict[str, Any], scale: float = 1.0) -> None:
    """Entropy within 2e-6 nats; the others within that and their own rounding to float32."""
    for name in OUTPUTS:
        found = backend.get(getattr(results, name))
        if name == "argmax":
            assert found.dtype == np.int64
            assert found.tolist() == expected[name].tolist()
            continue
        relative = 0.0 if name == "entropy" and scale == 1.0 else 2 * ULP
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected[name], rtol=relative, atol=2e-6 * scale, err_msg=name)
