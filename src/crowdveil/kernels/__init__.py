"""Compiled loops over claims. They take and fill plain arrays, and know nothing of files, names or
parameter classes. A loop takes a range [first, last) of objects in the layout of `Claims`, writes nothing
outside of it, and releases the interpreter lock, so that ranges can run in parallel.
"""
