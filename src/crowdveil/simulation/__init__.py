"""Crowds, measurements, answers and tables that are made up, from a seed."""
