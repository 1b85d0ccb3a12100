"""Audits: statistical attacks on privacy claims.

An audit draws outputs from two neighbouring inputs and looks for an event whose probabilities differ by more
than the claimed (epsilon, delta) allows. Where the chances of whole outputs are known it also judges their
exact log-likelihood ratios. Its verdict is "refuted" or "not refuted"; it cannot prove a claim.

One file for each idea: `bounds` (confidence bounds from counts of an event), `case` (the definition of an
audit), `noise`, `local`, `cells`, `slots`, `oracles`, `records`, `releases`, `certified`, `second_look`,
`smoothed`, `attempts` (worst-case pairs of each mechanism), `transcripts` (the exact ratio of all that a
certified release learns), `whole_release`, `rounds` (audits of all that is spent together), `registry` (all
audits by name), `planted`, `planted_lines`, `broken` (mechanisms broken on purpose that must be refuted, and
how a line of the real code is broken), `run` (drawing and testing).
"""
