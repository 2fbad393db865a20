"""What the paper compares DGC with: linear methods, on the same engine and with the same tuning."""
