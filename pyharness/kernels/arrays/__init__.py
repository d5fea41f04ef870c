"""Arrays of any library, the devices they are on, and where a call computes."""
