"""Synthetic tables from people's own devices: each sends one randomized report about one question."""
