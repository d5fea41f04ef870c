"""``pyharness diff`` and ``pyharness overlap``: what differs between tokenizers, and what they share.

``definitions``, ``changes``, ``sides`` and ``witnesses`` say what differs between two. ``sources`` unpacks files and
reads revisions. ``comparison`` puts them together. ``overlaps`` says what vocabularies hold and share.
"""
