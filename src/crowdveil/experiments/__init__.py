"""The papers' experiments: one file for each paper, and the simulated data they use."""
