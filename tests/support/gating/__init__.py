"""What tests of the gate share."""
