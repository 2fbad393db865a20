"""A page to look at a fitted classifier on its graph."""
