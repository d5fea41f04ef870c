"""Actions: what codecs of motion cost, how far off they are, and what they make of damaged ids."""
