"""What was read, chosen and found, as plain values for people and machines, and as plots."""
