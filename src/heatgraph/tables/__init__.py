"""Tables of nodes and edges in, predictions out: CSV, Parquet, and the data frames of others."""
