"""Threads of this process: the pools of native libraries, and lanes that each wait for a child."""
