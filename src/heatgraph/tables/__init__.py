"""Read node and edge tables (CSV, Parquet, data frames), and write data sets and predictions."""
