"""Tensors of torch: the same results as its own distributions, and what a tensor can have that an array cannot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from pyharness.kernels import EntropyOutputs, entropy
from pyharness.kernels.arrays import describe
from pyharness.kernels.entropy import OUTPUTS
from pyharness.types import InputError

torch: Any = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_parity_with_categorical(dtype: str) -> None:
    logits = torch.randn(6, 1000, generator=torch.Generator().manual_seed(1)).mul(4).to(getattr(torch, dtype))
    targets = torch.arange(6) * 150
    results = entropy(logits, targets=targets, outputs=OUTPUTS)
    categorical = torch.distributions.Categorical(logits=logits.double())
    torch.testing.assert_close(results.entropy.double(), categorical.entropy(), rtol=0, atol=2e-6)
    torch.testing.assert_close(results.nll.double(), -categorical.log_prob(targets), rtol=3e-7, atol=2e-6)
    torch.testing.assert_close(results.max_probability.double(), categorical.probs.max(-1).values, rtol=1e-6, atol=0)
    torch.testing.assert_close(results.log_sum_exp.double(), logits.double().logsumexp(-1), rtol=3e-7, atol=2e-6)
    top = logits.double().topk(2).values
    torch.testing.assert_close(results.margin.double(), top[:, 0] - top[:, 1], rtol=3e-7, atol=1e-7)
    assert results.argmax.dtype == torch.int64
    assert (logits.gather(1, results.argmax[:, None])[:, 0] == logits.max(-1).values).all()


def test_results_are_tensors() -> None:
    logits = torch.zeros(2, 4, dtype=torch.bfloat16)
    out = EntropyOutputs(entropy=torch.empty(2))
    results = entropy(logits, out=out)
    assert results.entropy is out.entropy
    assert out.entropy.tolist() == pytest.approx([np.log(4)] * 2)
    assert isinstance(entropy(logits, outputs="argmax").argmax, torch.Tensor)
    assert isinstance(entropy(logits.float().numpy()).entropy, np.ndarray)


def test_slices_and_expanded_rows() -> None:
    base = torch.randn(4, 30, generator=torch.Generator().manual_seed(2))
    expected = entropy(base[1:3, 3:20].contiguous()).entropy
    assert torch.equal(entropy(base[1:3, 3:20]).entropy, expected)
    expanded = base[:1].expand(5, -1)
    assert torch.equal(entropy(expanded).entropy, entropy(base[:1]).entropy.expand(5))


def test_tensors_that_require_grad_are_refused() -> None:
    with pytest.raises(InputError, match=r"logits .*requires? grad.*detach"):
        entropy(torch.zeros(2, 3, requires_grad=True))
    with pytest.raises(InputError, match=r"out\.entropy .*grad"):
        entropy(torch.zeros(2, 3), out=EntropyOutputs(entropy=torch.zeros(2, requires_grad=True)))


def test_targets_of_another_library() -> None:
    """Host memory is host memory."""
    results = entropy(torch.zeros(2, 3), targets=np.array([0, 2]), outputs=("nll",))
    assert results.nll.tolist() == pytest.approx([np.log(3)] * 2)


class OtherDeviceTensor(torch.Tensor):  # type: ignore[misc]
    """As torch does it: only tensors of the current CUDA device are handed out."""

    current = 0

    @property
    def is_cuda(self) -> bool:
        return True

    @property
    def device(self) -> Any:
        return torch.device("cuda", 1)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 1)

    def __dlpack__(self, **_: Any) -> Any:
        if OtherDeviceTensor.current != 1:
            raise BufferError("Can't export tensors on a different CUDA device index.")
        return self.numpy().__dlpack__()


def test_tensors_of_a_device_that_is_not_the_current_one(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def using(device: Any) -> Iterator[None]:
        OtherDeviceTensor.current = device.index
        yield
        OtherDeviceTensor.current = 0

    tensor = torch.zeros(2, 3).as_subclass(OtherDeviceTensor)
    monkeypatch.setattr(torch.cuda, "device", using)
    assert describe(tensor, "logits").shape == (2, 3)
    assert OtherDeviceTensor.current == 0
