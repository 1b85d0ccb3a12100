"""The database: tables (`schema`), how to reach them (`database`), and what is asked of them, by noun.

No row holds a raw value of anybody: reports are kept as devices sent them, tokens as digests.
"""
