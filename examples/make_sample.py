"""Makes the bundled sample: simulated severities (0 to 10) of side effects, 40 drugs, 120 patients.

Run: python examples/make_sample.py src/crowdveil/samples/side_effects.csv
"""

import sys

import numpy as np
import polars as pl

from crowdveil.randomness import seeded

DRUGS, PATIENTS, CARELESS, SHARE = 40, 120, 18, 0.4

rng = seeded(2019)
centres = 2.0 + 6.0 * rng.stream("centres", purpose="sample").uniforms(DRUGS)
spreads = 0.4 + 0.8 * rng.stream("spreads", purpose="sample").uniforms(DRUGS)
noise = rng.stream("noise", purpose="sample").normals(DRUGS * PATIENTS).reshape(DRUGS, PATIENTS)
anything = 10.0 * rng.stream("anything", purpose="sample").uniforms(DRUGS * PATIENTS).reshape(DRUGS, PATIENTS)
answered = (
    rng.stream("answered", purpose="sample").uniforms(DRUGS * PATIENTS).reshape(DRUGS, PATIENTS) < SHARE
)
order = rng.stream("order", purpose="sample").uniforms(PATIENTS).argsort()

careless = order < CARELESS
severity = np.where(careless, anything, centres[:, None] + spreads[:, None] * noise)
drug, patient = np.nonzero(answered)
pl.DataFrame(
    {
        "drug": [f"drug-{i + 1:02}" for i in drug],
        "patient": [f"patient-{s + 1:03}" for s in patient],
        "severity": np.clip(severity[drug, patient], 0, 10).round(1),
    }
).write_csv(sys.argv[1])
