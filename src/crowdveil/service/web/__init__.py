"""Pages for people: what participants say is randomized before it leaves their browser."""
