"""Rows that are trained before anything is measured."""
