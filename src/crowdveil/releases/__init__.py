"""The trusted collector: from claims to synthetic claims that may be published.

One file for each idea. Methods: `certified` (proved, from the noisy statistics of `histogram`, by the
`posterior` over `templates`), `basic`, and the papers' `priscrowd` with its `weights`, `density` and privacy
test (`deniability`). `result` is what they return, `measures` and `evaluation` say how good it is.
"""
