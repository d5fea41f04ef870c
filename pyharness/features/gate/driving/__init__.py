"""The process of an arm: ``driver.py`` and ``workloads.py`` run in it, ``process.py`` asks it.

The first two are files of their own: the interpreter of each arm runs the same bytes, and they import nothing of this
package but what is under test.
"""
