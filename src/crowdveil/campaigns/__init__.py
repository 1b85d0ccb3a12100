"""Campaigns: what devices are asked, what they send, and what becomes of the reports, without a server.

A `Campaign` is everything that is frozen once it opens. Its public document (`to_dict`) is all that a device
needs to perturb an answer, or to refuse: a device builds the campaign again (`from_dict`) and computes
itself what is promised. One file for each kind: `sensing`, `sparse`, `records`; `kind` is what they have in
common, `statement` what is promised and what is not, `results` what is estimated.
"""
