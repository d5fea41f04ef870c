"""Trainers that papers use: parity-aware BPE, SentencePiece's Unigram as the library sets it, PickyBPE, BPE-knockout.

``parity`` and ``unigram`` train, ``documents`` hands them the text, ``declarations`` has the options of all. ``picky``
and ``knockout`` train models of events (``event_model``), which ``event_tokenizer`` runs; ``picky_training`` is
what PickyBPE does to its vocabulary.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.tokenizers": ("event_tokenizer:LOADERS",),
    "pyharness.trainers": ("declarations:TRAINERS",),
}
