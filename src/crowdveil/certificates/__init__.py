"""Certificates: what was promised about a file, and what was not, for machines and people.

One form for everything that is published: releases, noisy claims, reports and synthetic records. A
certificate states facts (the method, its parameters, the public numbers that the promise depends on) and the
promise. Whoever reads one computes the promise again from the facts (`recomputation.py`) and refuses a
certificate whose numbers differ. Its sentences are for people, and are never compared.

It says nothing that only the raw data know: no count unless that is public, no hash of the input, no seed.
"""
