"""Actions: chunks of equal-length vectors, written as ids (FAST, bins), their files and streams.

An action is no text: codecs have a protocol of their own, ``pyharness.types.ActionCodec``.
"""
