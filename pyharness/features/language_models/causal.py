"""A causal language model in transformers, and the entropy and NLL of its predictions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray

from pyharness import kernels
from pyharness.features.language_models.folder import ModelFolder
from pyharness.features.language_models.windows import Layout
from pyharness.types import InputError

# Logits that the network computes at a time, from hidden states. On a CPU, 8 MiB (of float32) stay in the cache, and
# the pages are reused: 64 MiB took 1.7 times as long. On a GPU the limit is 1 GiB, which was not measured.
LOGITS_AT_ONCE = {"cpu": 1 << 21, "cuda": 1 << 28}
LONGEST_CONTEXT = 2048  # that of GPT-3; if a model allows 64 times as much, hidden states would fill the memory
LEAST_ROWS = 64  # of logits in a chunk: each chunk reads all weights of the head

# How logits follow from the hidden states of the body: as hidden @ weight^T + bias and nothing else; row by row, by
# the network's own head (a cap, a scale, more layers); or not at all, so that the network runs as a whole.
Head: TypeAlias = Literal["linear", "rows", "whole"]


@dataclass(frozen=True)
class CausalModel:
    """A loaded model, in evaluation mode and without gradients."""

    folder: ModelFolder
    network: Any  # transformers.PreTrainedModel
    device: str
    dtype: str
    columns: int  # of its logits: the vocabulary, with the padding that it may have
    longest: int | None  # tokens that its positions allow, if they are limited
    bos: int | None
    head: Head

    def window_sizes(self, context: int, stride: int) -> tuple[int, int]:
        """Return context and stride in tokens: 0 stands for the model's own, up to 2048, and for half of the context.

        Raises:
            InputError: the context is longer than the model's, or the stride is longer than the context.
        """
        if self.longest is not None and context > self.longest:
            raise InputError(
                f"context = {context} is more than the {self.longest} tokens of model {self.folder.name!r}"
            )
        context = context or min(self.longest or LONGEST_CONTEXT, LONGEST_CONTEXT)
        stride = stride or max(context // 2, 1)
        if stride > context:
            raise InputError(f"stride = {stride} leaves tokens out: the model's context is {context}")
        return context, stride

    def score(self, batch: Layout, columns: int, threads: int = 1) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return entropy and NLL of the scored predictions of a batch, in bits, float32 [scored] each.

        Args:
            batch: windows laid out.
            columns: logits that count, from the first. Those behind get no probability.
            threads: native threads, on the CPU.

        Raises:
            InputError: the batch does not fit into memory.
        """
        import torch

        options: dict[str, Any] = {"outputs": ("entropy", "nll"), "unit": "bits", "threads": threads}
        with torch.inference_mode(), self._name_errors(batch):
            scored = torch.from_numpy(batch.scored).to(self.device)
            options["targets"] = torch.from_numpy(batch.targets).to(self.device)
            if self.head == "whole":
                scores = [kernels.entropy(self.logits(batch)[scored][:, :columns], **options)]
            else:
                scores = self._of_hidden(self.network.base_model(**self.inputs(batch)), scored, columns, options)
            entropy, nll = (torch.cat([getattr(part, name) for part in scores]) for name in options["outputs"])
            return entropy.cpu().numpy(), nll.cpu().numpy()

    def _of_hidden(self, body: Any, scored: Any, columns: int, options: dict[str, Any]) -> list[kernels.EntropyOutputs]:
        """Score what the body returns: only the scored logits are computed, a chunk at a time."""
        rows = body.last_hidden_state[scored]
        if self.head == "linear":
            head = self.network.get_output_embeddings()
            return [kernels.linear_entropy(rows, head.weight, head.bias, vocab_size=columns, **options)]
        step = max(LOGITS_AT_ONCE[self.device] // self.columns, LEAST_ROWS)
        chunks = zip(rows.split(step), options["targets"].split(step), strict=True)
        return [
            kernels.entropy(self.logits_of(type(body), chunk)[:, :columns], **{**options, "targets": targets})
            for chunk, targets in chunks
        ]

    def logits_of(self, output: Any, hidden: Any) -> Any:
        """Return logits [rows, columns] that the network computes from hidden states [rows, width], without its body.

        ``output`` is the class of the body's result; for this call, the body returns these hidden states.
        """
        import torch

        body, body_output = self.network.base_model, output(last_hidden_state=hidden[None])
        ids = torch.zeros((1, len(hidden)), dtype=torch.int64, device=hidden.device)
        body.forward = lambda *_, **__: body_output
        try:
            return self.network(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits[0]
        finally:
            del body.forward  # the class's own forward is visible again

    def gpu(self) -> str | None:
        """Return the name of the GPU that the model runs on; None on a CPU."""
        import torch

        return torch.cuda.get_device_name() if self.device == "cuda" else None

    def inputs(self, batch: Layout) -> dict[str, Any]:
        """Return the arguments of a call of the network, or of its body without the output embedding."""
        import torch

        ids, attended = (torch.from_numpy(array).to(self.device) for array in (batch.ids, batch.attended))
        return {"input_ids": ids, "attention_mask": attended, "use_cache": False}

    def logits(self, batch: Layout) -> Any:
        """Return the logits of a batch, [windows, longest, columns]: they may be large."""
        return self.network(**self.inputs(batch)).logits

    @contextmanager
    def _name_errors(self, batch: Layout) -> Iterator[None]:
        import torch

        try:
            yield
        except (MemoryError, RuntimeError) as error:
            if not isinstance(error, MemoryError | torch.OutOfMemoryError) and "allocate memory" not in str(error):
                raise
            message = " ".join(str(error).split())[:200]
            raise InputError(
                f"language model {self.folder.name!r}: {batch.ids.size:,} tokens at once do not fit on {self.device} "
                f"({message}); lower batch_tokens= or context="
            ) from None
