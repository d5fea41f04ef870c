"""Doubles that cut texts into units."""
