"""The trusted collector: from claims to synthetic claims that may be published.

One file for each idea: `weights` (how far to trust whom), `density` (an object's claims as a curve),
`deniability` (the privacy test), `priscrowd` and `baselines` (the methods), `result` (what they return),
`measures` (how good it is).
"""
