"""Launches and rounds: what is measured, in which order, and until when."""

from __future__ import annotations

from pyharness.features.gate.measuring.course import Course, FreshText, Listening, Silent
from pyharness.features.gate.measuring.session import Measured, measure

__all__ = ["Course", "FreshText", "Listening", "Measured", "Silent", "measure"]
