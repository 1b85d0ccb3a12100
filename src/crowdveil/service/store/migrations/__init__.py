"""How the tables became what they are, one file for each step; run when a server starts."""
