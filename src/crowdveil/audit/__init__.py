"""Audits: attacks on what is promised. Each draws from two neighbouring inputs and looks for an event that
tells them apart better than the claim allows. It says "refuted" or "not refuted"; it cannot prove anything.

One file for each idea: `bounds` (what counts of an event prove), `case` (what an audit is), `noise`,
`local`, `cells`, `slots`, `oracles`, `records`, `releases`, `certified`, `second_look`, `smoothed`,
`attempts` (the worst pairs of each mechanism), `registry` (all of them by name), `planted` (mechanisms
that are broken on purpose, so that the audit is known to notice), `run` (drawing and judging).
"""
