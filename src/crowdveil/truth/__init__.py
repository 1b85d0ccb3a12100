"""Truth discovery: what is true, and whom to trust, from claims that contradict each other.

One file for each method; each gives `Truths`. GTM with a weak prior is the default.
"""
