"""Folders that appear whole or not at all, and folders that are needed for a while."""

from pyharness.store.folders.writing import check_apart, check_new_folder, write_folder

__all__ = ["check_apart", "check_new_folder", "write_folder"]
