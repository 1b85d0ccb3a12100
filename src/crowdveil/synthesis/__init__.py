"""Synthetic tables from reports that people's own devices randomize.

`methods` lists the methods. Most are a `design`: each person answers one question (`questions`), in rounds
(`collection`), from real devices or from simulated ones (`simulated`).
"""
