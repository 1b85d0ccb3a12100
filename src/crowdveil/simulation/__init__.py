"""Simulated claims, measurements, answers and records, from a seed."""
