"""Tests that use pytest-benchmark's fixture, measured in two arms that take turns call by call.

``plugin.py`` is the process of an arm: a file of its own, the same bytes in both, that the arm's interpreter runs.
``worker.py`` is the parent's side of it, ``trees.py`` the tests' files without the package under test.
"""
