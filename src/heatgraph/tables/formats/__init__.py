"""Read files of tables, edges, matrices and graphs, whose formats are detected."""
