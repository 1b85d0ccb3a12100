"""What others would run: a file for each library. They import NumPy and that library, never crowdveil."""
