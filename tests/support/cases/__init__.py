"""What the tests of one room share: files that they write, devices and programs that they stand in for."""
