"""Mistakes that would break a promise, each with the tests that must notice it. `make mutants` runs them.

To add one: the file under src/crowdveil, a piece of its text that occurs there exactly once, what takes its
place, and the tests (files or single tests, quick ones) that fail then. Write down mistakes that somebody
could make, not those that crash.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """One mistake: `old` becomes `new` in a file, and at least one of the tests fails."""

    name: str
    file: str  # under src/crowdveil
    old: str
    new: str
    tests: tuple[str, ...]  # under tests


SENSITIVITIES = "releases/test_sensitivities.py"
EVERY_METHOD = "releases/test_every_method.py"
ADD_REMOVE = "releases/test_add_remove.py"
NO_EXACT_COUNT = (
    "releases/test_certified.py::test_under_add_remove_no_exact_count_leaves_the_noisy_statistics"
)
CAP = "releases/test_certified.py::test_at_user_level_at_most_the_cap_is_used_whatever_the_values"

# --- sensitivities and noise --------------------------------------------------------------------------------

NOISE = (
    Mutation(
        "pair distances with half their sensitivity",
        "releases/histogram.py",
        "return count_noise(2 * neighbours.claims, epsilon)",
        "return count_noise(1 * neighbours.claims, epsilon)",
        (SENSITIVITIES,),
    ),
    Mutation(
        "histograms with half their sensitivity where values are replaced",
        "releases/histogram.py",
        "changed = 2 if neighbours.replaced else 1",
        "changed = 1",
        (SENSITIVITIES,),
    ),
    Mutation(
        "Gaussian noise for one changed count",
        "releases/noise.py",
        'NoiseEvent("discrete_gaussian", sigma, 1, self.changed)',
        'NoiseEvent("discrete_gaussian", sigma, 1, 1)',
        (SENSITIVITIES,),
    ),
    Mutation(
        "the cap forgotten in how many claims a unit holds",
        "releases/neighbours.py",
        "return 1 if self.cap is None else self.cap",
        "return 1",
        (SENSITIVITIES,),
    ),
    Mutation(
        "the second look's sensitivity without the cap",
        "releases/second_look.py",
        "(2 if neighbours.replaced else 1) * neighbours.claims * steps",
        "(2 if neighbours.replaced else 1) * steps",
        (SENSITIVITIES,),
    ),
    Mutation(
        "the second look's sensitivity without the other claims of a user",
        "releases/second_look.py",
        "count_noise(3 * steps + most - 1, epsilon)",
        "count_noise(2 * steps, epsilon)",
        (SENSITIVITIES,),
    ),
    Mutation(
        "basic noise for half the steps",
        "releases/basic.py",
        "return self.steps / self.realised",
        "return self.steps / (2 * self.realised)",
        ("releases/test_basic.py",),
    ),
    Mutation(
        "a device's Laplace noise for half the steps",
        "local/laplace.py",
        'scales.at_least(self.grid.steps / rational(self.epsilon, what="epsilon"), refusal=refusal)',
        'scales.at_least(self.grid.steps / rational(2 * self.epsilon, what="epsilon"), refusal=refusal)',
        ("local/test_local_laplace.py",),
    ),
    Mutation(
        "kRR that draws with twice the odds of its law",
        "local/krr.py",
        "loops.fill_krr(state, block, law.symbols, law.keep, law.other, rows)",
        "loops.fill_krr(state, block, law.symbols, law.keep, law.other // 2, rows)",
        ("local/test_oracles_laws.py",),
    ),
    Mutation(
        "kRR weights for a larger epsilon than the one printed",
        "local/krr.py",
        '''        """The integer weights of the cells."""
        return Response.of(self.cells, self.epsilon)''',
        '''        """The integer weights of the cells."""
        return Response.of(self.cells, 1.1 * self.epsilon)''',
        ("local/test_oracles_laws.py",),
    ),
    Mutation(
        "OUE whose other bits are 1 half as often",
        "local/oue.py",
        "loops.fill_oue(state, block, self.cells, self.ones.drawn, rows)",
        "loops.fill_oue(state, block, self.cells, BitChance(self.ones.weight // 2).drawn, rows)",
        ("local/test_oracles_laws.py",),
    ),
    Mutation(
        "2-Layer that promises the mean epsilon for a cell",
        "local/two_layer.py",
        "largest = 2 * self.mean",
        "largest = self.mean",
        ("local/test_two_layer_mechanism.py",),
    ),
    Mutation(
        "all of epsilon for each value of a report",
        "local/split_epsilon.py",
        "share = epsilon / parts",
        "return epsilon",
        ("synthesis/test_split_krr.py",),
    ),
)

# --- one epsilon, spent once --------------------------------------------------------------------------------

SPLIT = (
    Mutation(
        "the histograms' event as if the pair distances were free",
        "releases/epsilon_split.py",
        "pair_noise(pairs, self.neighbours).event, self.epsilon - pairs",
        "pair_noise(pairs, self.neighbours).event, self.epsilon",
        (SENSITIVITIES,),
    ),
    Mutation(
        "histograms drawn as if the pair distances were free",
        "releases/certified.py",
        "left = split.epsilon - pairs",
        "left = split.epsilon",
        (SENSITIVITIES,),
    ),
    Mutation(
        "the histograms' event as if the second look were free",
        "releases/epsilon_split.py",
        "histogram_noise(left - weights, self.neighbours, self.delta)",
        "histogram_noise(left, self.neighbours, self.delta)",
        (SENSITIVITIES,),
    ),
    Mutation(
        "histograms drawn as if the second look were free",
        "releases/certified.py",
        "claims, limits, bins, left - weights, neighbours, parameters.delta, rng=rng, engine=engine",
        "claims, limits, bins, left, neighbours, parameters.delta, rng=rng, engine=engine",
        (SENSITIVITIES,),
    ),
)

# --- what of the claims is used -----------------------------------------------------------------------------

USED = (
    Mutation(
        "claims beyond the cap are used",
        "releases/certified.py",
        "claims = claims.capped(self.cap, keep_objects=not self.neighbours.replaced)",
        "claims = claims.capped(len(claims), keep_objects=not self.neighbours.replaced)",
        (EVERY_METHOD,),
    ),
    Mutation(
        "the cap keeps the smallest values",
        "claims.py",
        "order = np.lexsort((keys, self.user_codes))",
        "order = np.lexsort((self.values, self.user_codes))",
        (CAP,),
    ),
    Mutation(
        "an exact mean of claims where claims come and go",
        "releases/certified.py",
        "else max(2.0, 2.0 * near.pairs / len(claims.objects))",
        "else float(claims.counts().mean())",
        (ADD_REMOVE,),
    ),
    Mutation(
        "the exact number of pairs where claims come and go",
        "releases/histogram.py",
        "pairs = Pattern.of(claims).pairs if neighbours.replaced else max(1, int(noisy.sum()))",
        "pairs = Pattern.of(claims).pairs",
        (NO_EXACT_COUNT,),
    ),
    Mutation(
        "exact numbers of claims by object where claims come and go",
        "releases/histogram.py",
        "sizes = claims.counts() if neighbours.replaced else np.maximum(1, counts.sum(axis=1))",
        "sizes = claims.counts()",
        (NO_EXACT_COUNT,),
    ),
    Mutation(
        "a share of epsilon that follows the exact number of pairs where claims come and go",
        "releases/epsilon_split.py",
        "        if self.neighbours.replaced:\n            enough",
        "        if pattern.pairs:\n            enough",
        (SENSITIVITIES,),
    ),
    Mutation(
        "a refusal that tells the number of claims where claims come and go",
        "releases/certified.py",
        "if self.neighbours.replaced and self.usefulness(pattern) < USEFUL:",
        "if self.usefulness(pattern) < USEFUL:",
        (ADD_REMOVE,),
    ),
    Mutation(
        "claims outside the range are not pulled into it",
        "releases/method.py",
        "return claims.clamped(self.range.low, self.range.high)[0]",
        "return claims",
        (EVERY_METHOD,),
    ),
    Mutation(
        "a device's claims outside the range are not pulled into it",
        "local/grid.py",
        """        inside = np.clip(values, self.low, self.high)
        nearest = np.rint((inside - self.low) / self.step)
        return np.clip(nearest, 0, self.steps).astype(np.int64)""",
        """        nearest = np.rint((values - self.low) / self.step)
        return nearest.astype(np.int64)""",
        ("local/test_local_laplace.py", "local/test_perturbed.py"),
    ),
    Mutation(
        "PrisCrowd's mean loss is a sum",
        "releases/weights.py",
        'if loss == "mean":',
        'if loss == "max":',
        ("releases/test_weights.py::test_mean_losses_find_a_liar_of_few_claims_and_sums_do_not",),
    ),
)

# --- the ledger: charge, draw, write, complete --------------------------------------------------------------

# What `operations/perturb.py` and `operations/synthesize.py` check before they charge belongs here too.
LEDGER = (
    Mutation(
        "a draw before its charge",
        "operations/spending.py",
        "    charge = account.ledger.charge(\n",
        "    result = draw()\n    charge = account.ledger.charge(\n",
        ("operations/test_spending.py",),
    ),
    Mutation(
        "a charge complete before its files are written",
        "operations/spending.py",
        "    write(result)\n    account.ledger.completed(charge)\n",
        "    account.ledger.completed(charge)\n    write(result)\n",
        ("operations/test_spending.py",),
    ),
    Mutation(
        "a release charged before its folder is checked",
        "operations/release.py",
        "    check_bundle(out, source, force=force)\n",
        "",
        ("operations/test_release_operation.py",),
    ),
    Mutation(
        "a release charged although it is little but noise",
        "operations/release.py",
        "    if not insist:\n        parameters.refuse_useless(pattern)\n",
        "",
        ("operations/test_release_operation.py",),
    ),
    Mutation(
        "a seeded release charged as a private one",
        "operations/release.py",
        "        seeded=not rng.private,\n",
        "        seeded=False,\n",
        ("operations/test_release_operation.py",),
    ),
    Mutation(
        "a budget that does not count the new charge",
        "ledger/budgets.py",
        "if EXACT.add(spent.epsilon, new.epsilon) > budget.epsilon:",
        "if spent.epsilon >= budget.epsilon:",
        ("ledger/test_budgets.py",),
    ),
    Mutation(
        "a budget of floating-point sums",
        "ledger/budgets.py",
        "if EXACT.add(spent.epsilon, new.epsilon) > budget.epsilon:",
        "if float(spent.epsilon) + float(new.epsilon) > float(budget.epsilon):",
        ("ledger/test_budgets.py",),
    ),
    Mutation(
        "a budget that outlives a release without a guarantee",
        "ledger/budgets.py",
        "    if before.without_guarantee:\n",
        "    if before.without_guarantee and new.epsilon > budget.epsilon:\n",
        ("ledger/test_budgets.py",),
    ),
    Mutation(
        "a budget for claims that admits a release for users",
        "ledger/budgets.py",
        "    if new.scope != budget.scope:\n",
        "    if new.scope.trust != budget.scope.trust:\n",
        ("ledger/test_budgets.py",),
    ),
    Mutation(
        "a second budget that takes the place of the first",
        "ledger/budgets.py",
        "    if before.budget != requested:\n",
        "    if before.budget.scope != requested.scope:\n",
        ("ledger/test_budgets.py",),
    ),
)

# --- streams ------------------------------------------------------------------------------------------------

STREAMS = (
    Mutation(
        "secure randomness that takes the same key again",
        "randomness/__init__.py",
        "return _words(os.urandom(4 * KEY_WORDS)), places",
        "return _words(bytes(4 * KEY_WORDS)), places",
        ("randomness/test_streams.py",),
    ),
    Mutation(
        "secure randomness with one stream for all names",
        "randomness/__init__.py",
        "places[:, 1] = np.arange(len(names))  # word 0",
        "places[:, 1] = 7  # word 0",
        ("randomness/test_streams.py",),
    ),
    Mutation(
        "one stream for all purposes",
        "randomness/__init__.py",
        "hashlib.blake2b(key=key, person=person, digest_size=4 * NONCE_WORDS)",
        "hashlib.blake2b(key=key, digest_size=4 * NONCE_WORDS)",
        ("randomness/test_streams.py",),
    ),
    Mutation(
        "one part of a run draws as another",
        "randomness/__init__.py",
        "hashlib.blake2b(name.encode(), key=self._seed_key",
        'hashlib.blake2b(b"part", key=self._seed_key',
        ("synthesis/test_record_streams.py",),
    ),
    Mutation(
        "one stream for all users' claims",
        "local/perturbed.py",
        "start(state, key, nonce)",
        "start(state, key, nonces[0])",
        ("local/test_perturbed.py",),
    ),
    Mutation(
        "one stream for all users' answers",
        "local/reports.py",
        "start(state, key, nonces[user])",
        "start(state, key, nonces[first])",
        ("local/test_cell_response.py",),
    ),
    Mutation(
        "one stream for all blocks of records",
        "local/record_reports.py",
        "start(state, key, nonces[number])",
        "start(state, key, nonces[0])",
        ("local/test_oracles.py", "local/test_oracles_laws.py"),
    ),
    Mutation(
        "pairs and histograms draw from the same streams",
        "releases/histogram.py",
        'key, nonces = rng.streams(claims.objects, purpose="histograms")',
        'key, nonces = rng.streams(claims.objects, purpose="pairs")',
        (EVERY_METHOD,),
    ),
    Mutation(
        "pair distances and the second look draw the same noise",
        "releases/second_look.py",
        'rng.stream("noise", purpose="second look")',
        'rng.stream("pairs", purpose="pair noise")',
        (EVERY_METHOD,),
    ),
    Mutation(
        "the rounds of a collection share their coins",
        "synthesis/collection.py",
        'seeded(self.seed).part(f"round {self.number}")',
        'seeded(self.seed).part("round")',
        ("synthesis/test_collection_rounds.py",),
    ),
    Mutation(
        "the devices of all rounds draw from the same streams",
        "synthesis/simulated.py",
        'part = rng.part(f"round {collection.number}")',
        'part = rng.part("round")',
        ("synthesis/test_record_streams.py",),
    ),
    Mutation(
        "a place that reports a second time",
        "synthesis/collection.py",
        "if np.count_nonzero(seen) < np.count_nonzero(self.seen) + places.size:",
        "if np.count_nonzero(seen) < np.count_nonzero(self.seen):",
        ("synthesis/test_collection_rounds.py",),
    ),
    Mutation(
        "two columns of a report draw from the same streams",
        "synthesis/krr.py",
        'rng=rng.part(f"column {column}")',
        'rng=rng.part("column")',
        ("synthesis/test_record_streams.py",),
    ),
)

# --- local operations, certificates and what devices send ---------------------------------------------------

PERTURB, SYNTHESIZE = "operations/test_perturb.py", "operations/test_synthesize_operation.py"
READING, KINDS = "certificates/test_certificate_reading.py", "certificates/test_kinds_of_files.py"

LOCAL = (
    Mutation(
        "reports charged before their file is checked",
        "operations/perturb.py",
        "    check_cell_reports(out, force=force)\n",
        "",
        (PERTURB,),
    ),
    Mutation(
        "reports charged that the mechanism refuses",
        "operations/perturb.py",
        "    mechanism.check(answers)\n",
        "",
        (PERTURB,),
    ),
    Mutation(
        "seeded reports charged as private ones",
        "operations/perturb.py",
        "seeded=self.seed is not None,",
        "seeded=False,",
        (PERTURB,),
    ),
    Mutation(
        "lists that were read off the claims charged as declared",
        "operations/perturb.py",
        "request.cost(mechanism, description, declared=answers.declared)",
        "request.cost(mechanism, description, declared=True)",
        (PERTURB,),
    ),
    Mutation(
        "synthetic records charged before their file is checked",
        "operations/synthesize.py",
        "    _check_out(out, source, force=force)\n",
        "",
        (SYNTHESIZE,),
    ),
    Mutation(
        "synthetic records from a seed charged as private ones",
        "operations/synthesize.py",
        "seeded=not rng.private,",
        "seeded=False,",
        (SYNTHESIZE,),
    ),
    Mutation(
        "a certificate whose promise is not compared",
        "certificates/reading.py",
        "        field = difference(stated, computed)\n",
        "        field = None\n",
        (READING, KINDS),
    ),
    Mutation(
        "a certificate that may leave out the numbers its promise depends on",
        "certificates/reading.py",
        "trusting = version == 1 and",
        "trusting = not certificate.public and",
        (READING,),
    ),
    Mutation(
        "a certificate without its delta",
        "certificates/recomputation.py",
        'names = (*numbers, "unit", "adjacency", "trust")',
        'names = ("epsilon", "unit", "adjacency", "trust")',
        (READING,),
    ),
    Mutation(
        "reports that name fewer objects than their promise is about",
        "files/cell_reports.py",
        '    if len(objects) != certificate.public["objects"]:\n',
        '    if len(objects) < certificate.public["objects"] - 1:\n',
        ("cli/test_perturb_cells.py",),
    ),
)

# --- what is told and who can read it -----------------------------------------------------------------------

TOLD = (
    Mutation(
        "a seeded release keeps its promise",
        "releases/result.py",
        '            object.__setattr__(self, "promise", SEEDED)\n',
        "            pass\n",
        (EVERY_METHOD,),
    ),
    Mutation(
        "private files that everybody can read",
        "report/bundle.py",
        "path.chmod(0o600)",
        "path.chmod(0o644)",
        ("cli/test_release_command.py::test_a_release_writes_a_public_and_a_private_folder",),
    ),
    Mutation(
        "a private folder that everybody can open",
        "report/bundle.py",
        "Folder(private_path(out), 0o700, PRIVATE_FILES)",
        "Folder(private_path(out), 0o755, PRIVATE_FILES)",
        ("cli/test_release_command.py::test_a_release_writes_a_public_and_a_private_folder",),
    ),
    Mutation(
        "folders that everybody can open, whatever was asked for",
        "files/writing.py",
        "draft.chmod(folder.mode)",
        "draft.chmod(0o755)",
        ("files/test_writing.py",),
    ),
    Mutation(
        "files that everybody can read, whatever was asked for",
        "files/writing.py",
        "draft.chmod(mode)",
        "draft.chmod(0o644)",
        ("files/test_writing.py",),
    ),
    Mutation(
        "a ledger that everybody can read",
        "ledger/store.py",
        "os.O_RDWR | os.O_CREAT, 0o600",
        "os.O_RDWR | os.O_CREAT, 0o644",
        ("ledger/test_ledger_file.py",),
    ),
    Mutation(
        "a ledger's folder that everybody can open",
        "ledger/store.py",
        "folder.mkdir(mode=0o700, exist_ok=True)",
        "folder.mkdir(exist_ok=True)",
        ("ledger/test_ledger_file.py",),
    ),
    Mutation(
        "an error that quotes a cell",
        "local/device_input.py",
        'raise InputError("the values are not all numbers") from None',
        'raise InputError(f"the values are not all numbers: {values}") from None',
        ("local/test_perturbed.py",),
    ),
)

# --- audits -------------------------------------------------------------------------------------------------

INFINITE = "audit/test_whole_release.py::test_a_decision_that_differs_between_the_worlds_is_an_infinite_ratio"
HEARD = "audit/test_exact_laws.py::test_somebody_who_reports_in_every_round_is_heard_in_every_round"

AUDITS = (
    Mutation(
        "exact ratios are computed and not judged",
        "audit/run.py",
        "by_ratios = self.ratios is not None and self.ratios.refute(self.audit)",
        "by_ratios = False",
        (HEARD,),
    ),
    Mutation(
        "an output that one world cannot give is overlooked",
        "audit/transcripts.py",
        "return inf if drawn == 0 else -inf",
        "return 0.0",
        (INFINITE,),
    ),
    Mutation(
        "an audit forgets the pair distances",
        "audit/transcripts.py",
        "return (1 - 2 * drawn) * (sum(chances) - sum(others))",
        "return (1 - 2 * drawn) * (sum(chances[1:]) - sum(others[1:]))",
        ("audit/test_whole_release.py::test_the_ratio_of_a_claim_is_that_of_its_two_statistics_by_hand",),
    ),
    Mutation(
        "a mean excess bounded as if there were ten times the draws",
        "audit/bounds.py",
        "enough = -math.log(error) / draws",
        "enough = -math.log(error) / (10 * draws)",
        ("audit/test_audit_bounds.py",),
    ),
    Mutation(
        "a person's reports of the first round only",
        "audit/rounds.py",
        "for reports in made.heard:",
        "for reports in made.heard[:1]:",
        (HEARD,),
    ),
)

MUTATIONS = (*NOISE, *SPLIT, *USED, *LEDGER, *LOCAL, *STREAMS, *TOLD, *AUDITS)
