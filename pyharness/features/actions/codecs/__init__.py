"""Actions: chunks of equal-length vectors, written as ids (FAST, bins), their files and streams.

An action is not text: codecs have their own protocol, ``pyharness.features.actions.types.ActionCodec``.
"""
