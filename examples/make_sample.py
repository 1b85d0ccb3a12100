"""Makes the bundled sample: simulated severities (0 to 10) of side effects.

40 drugs, 3,000 patients with five claims each, some of whom say anything.

Run: python examples/make_sample.py src/crowdveil/samples/side_effects.csv
"""

import sys

import numpy as np
import polars as pl

from crowdveil.randomness import seeded

DRUGS, PATIENTS, CARELESS, CLAIMS = 40, 3000, 450, 5

rng = seeded(2019)
centres = 2.0 + 6.0 * rng.stream("centres", purpose="sample").uniforms(DRUGS)
spreads = 0.4 + 0.8 * rng.stream("spreads", purpose="sample").uniforms(DRUGS)
noise = rng.stream("noise", purpose="sample").normals(DRUGS * PATIENTS).reshape(DRUGS, PATIENTS)
anything = 10.0 * rng.stream("anything", purpose="sample").uniforms(DRUGS * PATIENTS).reshape(DRUGS, PATIENTS)
taken = rng.stream("taken", purpose="sample").uniforms(DRUGS * PATIENTS).reshape(DRUGS, PATIENTS)
answered = taken.argsort(axis=0).argsort(axis=0) < CLAIMS
order = rng.stream("order", purpose="sample").uniforms(PATIENTS).argsort()

careless = order < CARELESS
severity = np.where(careless, anything, centres[:, None] + spreads[:, None] * noise)
drug, patient = np.nonzero(answered)
pl.DataFrame(
    {
        "drug": [f"drug-{i + 1:02}" for i in drug],
        "patient": [f"patient-{s + 1:04}" for s in patient],
        "severity": np.clip(severity[drug, patient], 0, 10).round(1),
    }
).write_csv(sys.argv[1])
