"""Releases in the central model: a trusted collector publishes synthetic or noisy claims.

Each file holds one idea. Methods with a proved guarantee: `certified` (noisy statistics from `histogram` and
`second_look`, then a `posterior` over `templates` or the `plain` estimate), `smoothed`, `attempts` and
`basic`. The paper's `priscrowd` has no differential privacy guarantee; it uses `weights`, `density` and the
privacy test of `deniability`. `method` is the interface, `registry` lists the methods, `result` is what they
return.
"""
