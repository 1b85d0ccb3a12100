"""Truth discovery: estimates of truths and of users' reliability from conflicting claims.

One file for each method; each returns `Truths`. GTM with a weak prior is the default.
"""
