"""Checks of one tokenizer or model folder. Each gives a result, with a witness for every fault.

``subjects`` loads what is checked, damaged files too, and has what all give. ``vocabulary`` and ``byte_tokens`` read
the file. ``texts`` and ``calls`` ask the home library. ``settings`` compares the files of a model folder. ``templates``
renders chat templates. ``measured`` runs benchmarks that are installed.
"""
