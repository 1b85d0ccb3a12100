"""Audits: statistical attacks on privacy claims.

An audit draws outputs from two neighbouring inputs and looks for an event whose probabilities differ by more
than the claimed (epsilon, delta) allows. Its verdict is "refuted" or "not refuted"; it cannot prove a claim.

One file for each idea: `bounds` (confidence bounds from counts of an event), `case` (the definition of an
audit), `noise`, `local`, `cells`, `slots`, `oracles`, `records`, `releases`, `certified`, `second_look`,
`smoothed`, `attempts` (worst-case pairs of each mechanism), `registry` (all audits by name), `planted`
(mechanisms that are broken on purpose and must be refuted), `run` (drawing and testing).
"""
