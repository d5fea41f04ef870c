"""Checks of ``bench/gpu_check.sh`` on made-up machines."""
