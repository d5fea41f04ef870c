"""A causal language model in transformers, and the entropy and NLL of its predictions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from pyharness import kernels
from pyharness.language_models.folder import ModelFolder
from pyharness.language_models.windows import Layout
from pyharness.types import InputError


@dataclass(frozen=True)
class CausalModel:
    """A loaded model, in evaluation mode and without gradients."""

    folder: ModelFolder
    network: Any  # transformers.PreTrainedModel
    device: str
    dtype: str
    columns: int  # of its logits: the vocabulary, with the padding that it may have
    longest: int | None  # tokens that its positions allow, where they are limited
    bos: int | None
    from_hidden: bool  # its logits are hidden @ weight^T + bias, and nothing else

    def score(self, batch: Layout, columns: int, threads: int = 1) -> tuple[NDArray[Any], NDArray[Any]]:
        """Entropy and NLL of the scored predictions of a batch, in bits, float32 [scored] each.

        Args:
            batch: windows laid out.
            columns: logits that count, from the first; those behind get no probability.
            threads: native threads, on the CPU.
        """
        import torch

        options: dict[str, Any] = {"outputs": ("entropy", "nll"), "unit": "bits", "threads": threads}
        with torch.inference_mode(), self._named_errors(batch):
            scored = torch.from_numpy(batch.scored).to(self.device)
            options["targets"] = torch.from_numpy(batch.targets).to(self.device)
            if self.from_hidden:
                head = self.network.get_output_embeddings()
                rows = self.network.base_model(**self.inputs(batch)).last_hidden_state[scored]
                scores = kernels.linear_entropy(rows, head.weight, head.bias, vocab_size=columns, **options)
            else:
                scores = kernels.entropy(self.logits(batch)[scored][:, :columns], **options)
            return scores.entropy.cpu().numpy(), scores.nll.cpu().numpy()

    def gpu(self) -> str | None:
        """Name of the GPU that it runs on, if it does."""
        import torch

        return torch.cuda.get_device_name() if self.device == "cuda" else None

    def inputs(self, batch: Layout) -> dict[str, Any]:
        """Arguments of a call of the network, or of its body without the output embedding."""
        import torch

        ids, attended = (torch.from_numpy(array).to(self.device) for array in (batch.ids, batch.attended))
        return {"input_ids": ids, "attention_mask": attended, "use_cache": False}

    def logits(self, batch: Layout) -> Any:
        """Logits of a batch, [windows, longest, columns]: they may be large."""
        return self.network(**self.inputs(batch)).logits

    @contextmanager
    def _named_errors(self, batch: Layout) -> Iterator[None]:
        import torch

        try:
            yield
        except (MemoryError, RuntimeError) as error:
            if not isinstance(error, MemoryError | torch.OutOfMemoryError) and "allocate memory" not in str(error):
                raise
            said = " ".join(str(error).split())[:200]
            raise InputError(
                f"language model {self.folder.name!r}: {batch.ids.size:,} tokens at once do not fit on {self.device} "
                f"({said}); lower batch_tokens= or context="
            ) from None
