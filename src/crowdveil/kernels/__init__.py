"""The loops over claims, as machine code. Plain arrays in, plain arrays out; nothing here knows files,
names or parameters. Every loop takes a range [first, last) of whole objects in the layout of `Claims`,
touches nothing outside it, and runs without the interpreter lock, so ranges can run side by side.
"""
