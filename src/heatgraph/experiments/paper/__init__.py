"""The paper, to check against: what it prints, as data."""
