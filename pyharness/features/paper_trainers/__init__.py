"""Trainers that papers use: BPE that is fair to languages, and SentencePiece's Unigram as the library sets it.

``parity`` and ``unigram`` train, ``documents`` hands them the text, ``declarations`` has their options.
"""

from __future__ import annotations

PLUGINS = {"pyharness.trainers": ("declarations:TRAINERS",)}
