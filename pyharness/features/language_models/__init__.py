"""Language models: how well a causal model of ``transformers`` predicts the tokens of a text.

``folder`` finds one, ``loader`` loads it, ``causal`` runs it over ``windows`` of tokens.
``next_token_entropy`` is the benchmark, and ``metrics`` has its numbers.
"""

from __future__ import annotations

PLUGINS = {"pyharness.benchmarks": ("next_token_entropy:BENCHMARKS",), "pyharness.metrics": ("metrics:REPORTED",)}
