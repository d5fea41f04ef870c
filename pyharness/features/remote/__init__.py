"""Texts in object stores and on web servers: ``s3://``, ``gs://``, ``hf://``, ``https://``, over fsspec.

``providers`` says which library reads an address and how it is set up, ``faults`` what its errors mean, ``objects`` is
a file there, fetched in exact ranges, and ``corpora`` finds the files of a specification. What is a document of which
file, and of which part, is decided by the trunk, as for files of ``path:``.
"""

from __future__ import annotations

PLUGINS = {"pyharness.corpora": ("corpora:CORPORA",)}
