"""The Python client of a campaign: it checks what is promised, perturbs here, remembers, and sends."""
