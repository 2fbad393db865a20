"""What the columns of a node table hold: features, and labels, numbers or splits."""
