"""Charts as SVG text, of values that a record has and a table shows."""

from __future__ import annotations

from pyharness.report.charts.curves import AxisLabel, Line, Panel, Point, curves
from pyharness.report.charts.dots import Dot, dots
from pyharness.report.charts.drawing import PAGE, PALETTE, Colour

__all__ = ["PAGE", "PALETTE", "AxisLabel", "Colour", "Dot", "Line", "Panel", "Point", "curves", "dots"]
