"""Ours against peers, and against stated bars: `crowdveil bench`. See harness.py for how it is measured."""
