"""crowdveil."""
