"""Measurements: each module is one workload that prints ratios and stores its run."""
