"""What we run, for the clock of stopwatch.py."""
