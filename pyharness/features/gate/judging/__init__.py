"""Verdicts: pure functions from rounds to judgements, the gate's test of itself, and changes that were declared.

docs/gate.md "How a verdict comes about" has the rule, and "How often the rule errs, simulated" what it is worth.
"""
