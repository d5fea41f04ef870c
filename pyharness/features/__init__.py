"""Features: optional parts, which the trunk does not need. Each has one folder, which can be deleted.

A feature's ``PLUGINS`` lists its offers as "module:CONSTANT", by the entry-point group of an installed package:
``{"pyharness.benchmarks": ("benchmark:BENCHMARKS",)}``. The trunk finds features only there, and loads an offer on
request.
"""
