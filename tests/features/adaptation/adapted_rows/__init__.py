"""Rows that are adapted before anything is measured."""
