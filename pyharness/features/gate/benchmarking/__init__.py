"""Tests that use pytest-benchmark's fixture, measured in two arms that take turns call by call.

``plugin.py`` is the process of an arm: a file of its own, the same bytes in both, that the arm's interpreter runs.
``process.py`` is the parent's side of it, ``starting.py`` starts it. ``planting.py`` says which tests are run, and
``trees.py`` copies their files without the package under test. By ``own.py``, which knows the base's own tests, it is
seen what the head has taken away.
"""
