"""Suites of a gate: read, found by name, and held against what the base has of them."""

from pyharness.features.gate.suites.reading import CORPORA as CORPORA
from pyharness.features.gate.suites.reading import DEFAULT as DEFAULT
from pyharness.features.gate.suites.reading import DRIVER as DRIVER
from pyharness.features.gate.suites.reading import WORKLOADS as WORKLOADS
from pyharness.features.gate.suites.reading import GateSuite as GateSuite
from pyharness.features.gate.suites.reading import find as find
from pyharness.features.gate.suites.reading import read as read
from pyharness.features.gate.suites.reading import shipped as shipped
