"""The vocabulary curriculum (arXiv 2502.17910): a vocabulary that grows where a model predicts text well.

Groups of tokens are runs that a model predicts ever better. Their prefixes become tokens, and a scan that joins
neighbours encodes text with the larger vocabulary. The predictions may be those of any next-token model, such as a GPT;
``trained:curriculum`` uses a symbol model.

>>> import numpy as np
>>> from pyharness.features.curriculum.tokenizer import FixpointEncoder
>>> from pyharness.features.curriculum.groups import GroupCounter, expand
>>> counter = GroupCounter(epsilon=0.3)
>>> counter.add(np.array([0, 1, 2, 0, 1], np.uint32), np.array([2, 0.2, 0.1, 1, 0.2]), np.array([0, 3, 5]))
>>> [group.tolist() for group in counter.first(10)]
[[0, 1, 2], [0, 1]]
>>> strings = [b"t", b"h", b"e"]
>>> strings += [addition.string for addition in expand(strings, counter.first(10))]
>>> strings[3:], FixpointEncoder(strings).encode(np.array([0, 1, 2], np.uint32), np.array([0, 3])).ids.tolist()
([b'th', b'the'], [4])
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.tokenizers": ("tokenizer:LOADERS",),
    "pyharness.trainers": ("declarations:TRAINERS",),
}
