"""How close synthetic records come to real ones. Every figure looks at raw records: keep them private."""
