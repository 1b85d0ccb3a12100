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
BLOCKS_OF_RECORDS = "synthesis/test_any_blocks_of_records.py"
ADD_REMOVE = "releases/test_add_remove.py"
NO_EXACT_COUNT = (
    "releases/test_certified.py::test_under_add_remove_no_exact_count_leaves_the_noisy_statistics"
)
APART = "files/test_apart.py"
OUTPUTS = "cli/test_outputs_apart.py"
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
        "law.symbols, law.keep, law.other, out)",
        "law.symbols, law.keep, law.other // 2, out)",
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
        "self.cells, self.ones.drawn, out)",
        "self.cells, BitChance(self.ones.weight // 2).drawn, out)",
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
        "else max(2.0, 2.0 * near.pairs / claims.object_count)",
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
        "sizes = claims.counts() if neighbours.replaced else np.maximum(1, engine.collect(sums))",
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
        "a cap for users that follows their values",
        "releases/expected_error.py",
        "    sizes = claims.claims_per_user()\n",
        "    sizes = np.bincount(claims.user_codes[claims.values > 0], minlength=len(claims.users))\n",
        ("releases/test_expected_error.py::test_the_cap_does_not_depend_on_any_value",),
    ),
    Mutation(
        "a refusal that tells the number of claims where claims come and go",
        "releases/certified.py",
        'return expectation(claims, self, spread, engine) if self.adjacency == "replace-one" else None',
        "return expectation(claims, self, spread, engine)",
        (ADD_REMOVE,),
    ),
    Mutation(
        "no release where there are no claims, although claims come and go",
        "releases/certified.py",
        '        return self.adjacency == "add-remove"\n',
        "        return False\n",
        (
            "cli/test_release_command.py"
            "::test_where_claims_come_and_go_the_output_does_not_tell_that_there_are_none",
        ),
    ),
    Mutation(
        "listed objects in another Unicode form lose their claims",
        "names.py",
        'unicodedata.normalize("NFC", str(name))',
        "str(name)",
        ("test_claims.py::test_listed_names_may_be_spelled_in_any_unicode_form",),
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
        "outputs that differ from an input by name alone",
        "files/apart.py",
        "        marks.add((there.st_dev, there.st_ino))\n",
        "        pass\n",
        (APART,),
    ),
    Mutation(
        "outputs compared with the names of inputs and not with where these lead",
        "files/apart.py",
        "{_real(path), _real(path.absolute().parent) / path.name}",
        "{path.absolute()}",
        (APART,),
    ),
    Mutation(
        "a key that --force replaces",
        "files/apart.py",
        '        yield "the key of the ledger", key_path(path)\n',
        "",
        (APART,),
    ),
    Mutation(
        "a ledger that is not the default one and that --force replaces",
        "files/apart.py",
        "    ledgers = [] if ledger is None else [ledger]\n",
        "    ledgers: list[Path] = []\n",
        (APART,),
    ),
    Mutation(
        "parts of a table that its certificate does not tell of are read",
        "files/certificates.py",
        "        if besides or checked.certificate.contents.get(PARTS) != found:\n",
        "        if besides:\n",
        ("files/test_parts.py",),
    ),
    Mutation(
        "noisy claims that replace the ledger which they are charged to",
        "operations/perturb.py",
        "    keep_apart([out], read, ledger=account.ledger.path)\n",
        "",
        (OUTPUTS,),
    ),
    Mutation(
        "synthetic records that replace the ledger which they are charged to",
        "operations/synthesize.py",
        '"the schema": schema}, ledger=account.ledger.path)\n',
        '"the schema": schema})\n',
        (OUTPUTS,),
    ),
    Mutation(
        "a release that takes the place of its ledger",
        "operations/release.py",
        "    keep_apart([out, private_path(out)], read, ledger=account.ledger.path)\n",
        "    keep_apart([out], read, ledger=account.ledger.path)\n",
        (OUTPUTS,),
    ),
    Mutation(
        "weights that replace the claims they were found from",
        "operations/discover.py",
        "        keep_apart([out, weights], ",
        "        keep_apart([out], ",
        (OUTPUTS,),
    ),
    Mutation(
        "truths that replace the file which tells the law",
        "operations/discover.py",
        '{"the input": claims, "--law": law, "--truths": truths}',
        '{"the input": claims}',
        (OUTPUTS,),
    ),
    Mutation(
        "a release charged before its folders are reserved",
        "operations/release.py",
        "    with reserved_bundle(out, force=force) as places:\n",
        "    class Late:\n"
        "        @__import__('contextlib').contextmanager\n"
        "        def filling(self):\n"
        "            with reserved_bundle(out, force=force) as now, now.filling() as drafts:\n"
        "                yield drafts\n\n"
        "    places = Late()\n"
        "    if True:\n",
        ("operations/test_release_operation.py",),
    ),
    Mutation(
        "a release charged although it is little but noise",
        "operations/release.py",
        "        if not insist:\n            parameters.refuse_useless",
        "        if False:\n            parameters.refuse_useless",
        ("operations/test_release_operation.py",),
    ),
    Mutation(
        "a release from Python that is drawn before its charge",
        "operations/release_claims.py",
        "rng), draw=draw, write=lambda _: None)",
        "rng), draw=(lambda drawn: lambda: drawn)(draw()), write=lambda _: None)",
        ("operations/test_release_claims.py",),
    ),
    Mutation(
        "a release from Python that forgets its ledger",
        "operations/release_claims.py",
        "if ledger is None or dataset is None:",
        "if ledger is None or dataset is None or budget is None:",
        ("operations/test_release_claims.py",),
    ),
    Mutation(
        "a release without a ledger that does not say so",
        "operations/release_claims.py",
        "return _without_account(draw())",
        "return draw()",
        ("operations/test_release_claims.py",),
    ),
    Mutation(
        "a spread that changes what is released",
        "operations/release.py",
        "parameters.draw(claims, rng",
        "parameters.draw(claims if spread is None else claims.capped(1), rng",
        ("operations/test_release_operation.py",),
    ),
    Mutation(
        "a seeded release charged as a private one",
        "operations/release_claims.py",
        "        seeded=not rng.private,\n",
        "        seeded=False,\n",
        ("operations/test_release_operation.py",),
    ),
    Mutation(
        "a budget that does not count the new charge",
        "ledger/budgets.py",
        "if EXACT.add(spent.epsilon, cost.epsilon) > budget.epsilon:",
        "if spent.epsilon >= budget.epsilon:",
        ("ledger/test_budgets.py",),
    ),
    Mutation(
        "a budget of floating-point sums",
        "ledger/budgets.py",
        "if EXACT.add(spent.epsilon, cost.epsilon) > budget.epsilon:",
        "if float(spent.epsilon) + float(cost.epsilon) > float(budget.epsilon):",
        ("ledger/test_budgets.py",),
    ),
    Mutation(
        "a budget that outlives a release without a guarantee",
        "ledger/budgets.py",
        "    if any(charge.scope is None and not charge.seeded for charge in before):\n",
        "    if any(charge.scope is None and charge.seeded for charge in before):\n",
        ("ledger/test_budgets.py",),
    ),
    Mutation(
        "a budget that counts a release as its own scope does",
        "ledger/budgets.py",
        "spent, cost = spending_in(budget.scope, before), spending_in(budget.scope, [new])",
        "spent, cost = spending_in(budget.scope, before), spending_in(new.scope, [new])",
        ("ledger/test_budgets.py",),
    ),
    Mutation(
        "a budget that admits what nothing bounds in its scope",
        "ledger/budgets.py",
        "    if cost.epsilon is None:\n        raise BudgetExceeded(\n",
        "    if cost.epsilon is None:\n        return\n        raise BudgetExceeded(\n",
        ("ledger/test_budgets.py",),
    ),
    Mutation(
        "a total without the releases of other scopes",
        "ledger/totals.py",
        "        if not charge.seeded and charge.scope is not None:\n",
        "        if not charge.seeded and charge.scope == scope:\n",
        ("ledger/test_totals.py",),
    ),
    Mutation(
        "a release that promises nothing in a scope and leaves its total as it was",
        "ledger/totals.py",
        "return replace(spending, not_bounded=spending.not_bounded + 1)",
        "return spending",
        ("ledger/test_totals.py",),
    ),
    Mutation(
        "one claim's delta for a user with several",
        "ledger/totals.py",
        "if changes == 1 or not charge.delta:",
        "if changes >= 1:",
        ("ledger/test_totals.py",),
    ),
    Mutation(
        "deltas rounded down",
        "ledger/totals.py",
        "UPWARD = Context(prec=6, rounding=ROUND_CEILING)",
        'UPWARD = Context(prec=6, rounding="ROUND_FLOOR")',
        ("ledger/test_totals.py",),
    ),
    Mutation(
        "add-remove without what a replaced value costs beside it",
        "ledger/totals.py",
        ' if scope.adjacency == "add-remove" else [scope]',
        ' if scope.adjacency == "none" else [scope]',
        ("ledger/test_totals.py",),
    ),
    Mutation(
        "a hard link with an account of its own",
        "ledger/store.py",
        "            new = replace(new, dataset=known_as(new.dataset, _read_datasets(db)))\n",
        "",
        ("ledger/test_ledger_names.py",),
    ),
    Mutation(
        "a blank that opens another account",
        "ledger/names.py",
        'return " ".join(unicodedata.normalize("NFC", name).split())',
        'return unicodedata.normalize("NFC", name)',
        ("ledger/test_ledger_names.py",),
    ),
    Mutation(
        "a path in a spelling under which there is no file",
        "ledger/names.py",
        "return dataset if _is_path(dataset) else _form(dataset)",
        'return unicodedata.normalize("NFC", dataset) if _is_path(dataset) else _form(dataset)',
        ("ledger/test_ledger_names.py",),
    ),
    Mutation(
        "paths of older ledgers that are not found",
        "ledger/names.py",
        'return unicodedata.normalize("NFC", path) == composed or any(',
        "return any(",
        ("ledger/test_ledger_names.py",),
    ),
    Mutation(
        "a name in another case that opens an account in silence",
        "ledger/names.py",
        "if _folded(other) == _folded(dataset)",
        "if other == dataset",
        ("ledger/test_ledger_names.py",),
    ),
    Mutation(
        "a delta so large that epsilon says nothing",
        "operations/release.py",
        "promise.delta > LARGE_DELTA",
        "promise.delta >= 1",
        ("operations/test_release_operation.py",),
    ),
    Mutation(
        "a pipe that is known by its path",
        "ledger/names.py",
        "or (os.access(source, os.F_OK) and not _same(path, source)):",
        "or (source == STDIN):",
        ("ledger/test_ledger_names.py",),
    ),
    Mutation(
        "columns of any kind where there are no claims",
        "cells.py",
        "untyped = len(column) == 0 and column.dtype in (pl.Null, pl.Object)",
        "untyped = len(column) == 0 and not column.dtype.is_integer()",
        ("test_claims.py",),
    ),
    Mutation(
        "no claims from Python that show where claims come and go",
        "operations/release_claims.py",
        "if len(claims) == 0 and not parameters.may_lack_claims:",
        "if len(claims) == 0:",
        ("operations/test_release_claims.py",),
    ),
    Mutation(
        "a value so large that it decides whether there is a release",
        "operations/release.py",
        "in_range=parameters.range is not None,",
        "in_range=False,",
        ("cli/test_outside_the_range.py",),
    ),
    Mutation(
        "a value so large that it decides whether there are noisy claims",
        "operations/perturb.py",
        "request.columns, in_range=True, engine=engine)",
        "request.columns, engine=engine)",
        ("cli/test_outside_the_range.py",),
    ),
    Mutation(
        "NaN as a number",
        "cells.py",
        '        refuse(numbers.is_nan(), source, column, "is NaN")\n        if not saturate:\n',
        "        if not saturate:\n",
        ("test_claims.py",),
    ),
    Mutation(
        "the observed number of claims of a user where claims come and go",
        "operations/release_claims.py",
        'public = isinstance(promise, Guarantee) and promise.adjacency == "replace-one"',
        "public = isinstance(promise, Guarantee)",
        ("operations/test_release_operation.py",),
    ),
    Mutation(
        "a second budget that takes the place of the first",
        "ledger/budgets.py",
        "    if declared is not None and declared != requested:\n",
        "    if declared is not None and declared.scope != requested.scope:\n",
        ("ledger/test_budgets.py",),
    ),
)

# --- streams ------------------------------------------------------------------------------------------------

STREAMS = (
    Mutation(
        "secure randomness that takes the same key again",
        "randomness/__init__.py",
        "_words(os.urandom(4 * KEY_WORDS) if key is None else key)",
        "_words(bytes(4 * KEY_WORDS) if key is None else key)",
        ("randomness/test_streams.py",),
    ),
    Mutation(
        "secure randomness with one stream for all names",
        "randomness/__init__.py",
        "places[:, 1] = np.arange(first, first + len(names))  # word 0",
        "places[:, 1] = 7  # word 0",
        ("randomness/test_streams.py",),
    ),
    Mutation(
        "one stream for all purposes",
        "randomness/__init__.py",
        "hashlib.blake2b(key=self._seed_key, person=self._person, digest_size=4 * NONCE_WORDS)",
        "hashlib.blake2b(key=self._seed_key, digest_size=4 * NONCE_WORDS)",
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
        "kernels/device_noise.py",
        """        start(state, key, nonces[user])
        fill_discrete_laplace(""",
        """        start(state, key, nonces[0])
        fill_discrete_laplace(""",
        ("local/test_perturbed.py",),
    ),
    Mutation(
        "blocks of users that begin with the same streams",
        "local/perturbed.py",
        "streams.nonces(users, first)",
        "streams.nonces(users)",
        ("local/test_perturbed_tables.py",),
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
        "streams.nonces([number], number)",
        "streams.nonces([0])",
        ("local/test_oracles.py", "local/test_oracles_laws.py"),
    ),
    Mutation(
        "pairs and histograms draw from the same streams",
        "releases/histogram.py",
        'rng.all_streams(purpose="histograms")',
        'rng.all_streams(purpose="pairs")',
        (EVERY_METHOD,),
    ),
    Mutation(
        "histograms and the second look draw the same noise",
        "releases/second_look.py",
        'rng.all_streams(purpose="second look")',
        'rng.all_streams(purpose="histograms")',
        (EVERY_METHOD,),
    ),
    Mutation(
        "the rounds of a collection share their coins",
        "synthesis/choices.py",
        'seeded(seed).part(f"round {number}")',
        'seeded(seed).part("round")',
        ("synthesis/test_collection_rounds.py",),
    ),
    Mutation(
        "the devices of all blocks of a round draw from the same streams",
        "synthesis/counting.py",
        "fill(streams, block, codes[own]",
        "fill(streams, 0, codes[own]",
        (BLOCKS_OF_RECORDS,),
    ),
    Mutation(
        "the devices of all questions draw from the same streams",
        "synthesis/counting.py",
        'part.part(f"question {number}")',
        'part.part("question")',
        ("synthesis/test_record_streams.py",),
    ),
    Mutation(
        "the devices of all blocks draw their columns from the same streams",
        "synthesis/all_columns.py",
        "fill(streams, number, block.codes",
        "fill(streams, 0, block.codes",
        (BLOCKS_OF_RECORDS,),
    ),
    Mutation(
        "the devices of all rounds draw from the same streams",
        "synthesis/counting.py",
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
        "synthesis/all_columns.py",
        'rng.part(f"column {column}")',
        'rng.part("column")',
        ("synthesis/test_record_streams.py",),
    ),
)

# --- local operations, certificates and what devices send ---------------------------------------------------

PERTURB, SYNTHESIZE = "operations/test_perturb.py", "operations/test_synthesize_operation.py"
READING, KINDS = "certificates/test_certificate_reading.py", "certificates/test_kinds_of_files.py"
EXACT_PATHS, SIGNED_TABLES = "files/test_exact_paths.py", "certificates/test_signed_tables.py"

LOCAL = (
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
        "description, declared=answers.declared, of_a_user=len(answers.objects)",
        "description, declared=True, of_a_user=len(answers.objects)",
        (PERTURB,),
    ),
    Mutation(
        "synthetic records that may replace the real ones",
        "operations/synthesize.py",
        '{"the real records": source, "the schema": schema}',
        '{"the schema": schema}',
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
        "rows of a CSV file that are not compared with its certificate",
        "files/certificates.py",
        "    if checked.certificate.contents.get(DIGEST) != digest(rows):\n",
        "    if DIGEST not in checked.certificate.contents:\n",
        ("files/test_first_line.py",),
    ),
    Mutation(
        "a certificate in a CSV file that need not tell the digest of the rows",
        "files/certificates.py",
        "    if checked.certificate.contents.get(DIGEST) != digest(rows):\n",
        "    if checked.certificate.contents.get(DIGEST, told := digest(rows)) != told:\n",
        ("files/test_first_line.py",),
    ),
    Mutation(
        "a table beside which an old certificate of another one is read",
        "files/certificates.py",
        "    if not same:\n",
        "    if False:\n",
        (KINDS,),
    ),
    Mutation(
        "seeded claims in a pipe without a mark",
        "cli/perturb.py",
        "        tell = warn if out == STDOUT else say\n",
        "        tell = (lambda _: None) if out == STDOUT else say\n",
        ("cli/test_perturb_command.py",),
    ),
    Mutation(
        "seeded claims that are not marked as such",
        "cli/perturb.py",
        """    if not result["private"]:\n""",
        """    if result["out"] != "-" and not result["private"]:\n""",
        ("cli/test_perturb_command.py",),
    ),
    Mutation(
        "noisy claims taken for raw ones without a word",
        "operations/raw_claims.py",
        "[] if certificate is None else [NOT_RAW.format(kind=certificate.kind)]",
        "[]",
        (PERTURB,),
    ),
    Mutation(
        "a law beside the one that claims carry",
        "operations/discover.py",
        "    if own.kind != given.kind or _mechanism(own) != _mechanism(given):\n",
        "    if own.kind != given.kind:\n",
        ("cli/test_law.py",),
    ),
    Mutation(
        "a CSV file whose name is taken for a pattern of names",
        "files/exact_paths.py",
        "return pl.read_csv(_exactly(source), glob=False, **options)",
        "return pl.read_csv(_exactly(source), **options)",
        (EXACT_PATHS,),
    ),
    Mutation(
        "claims on disk in a file that outlives the process",
        "engines/stored/spilled.py",
        "tempfile.TemporaryFile(buffering=0)",
        "tempfile.NamedTemporaryFile(buffering=0, delete=False)",
        ("engines/test_spilled.py",),
    ),
    Mutation(
        "a cap on claims on disk that keeps one more",
        "engines/stored/caps.py",
        "last = order[begins + most - 1]",
        "last = order[begins + most]",
        ("engines/test_stored_claims.py",),
    ),
    Mutation(
        "a Parquet file whose name is taken for a pattern of names",
        "files/exact_paths.py",
        "return pl.scan_parquet(_exactly(source), glob=False, ",
        "return pl.scan_parquet(_exactly(source), ",
        (EXACT_PATHS,),
    ),
    Mutation(
        "a folder ~ taken for the home folder",
        "files/exact_paths.py",
        "path = Path(source).absolute()",
        "path = Path(source)",
        (EXACT_PATHS,),
    ),
    Mutation(
        "reports that name fewer objects than their promise is about",
        "certificates/recomputation.py",
        "    if not isinstance(names, list) or len(names) != objects:\n",
        "    if not isinstance(names, list) or len(names) < objects - 1:\n",
        (SIGNED_TABLES, "cli/test_perturb_cells.py"),
    ),
)

# --- signatures ---------------------------------------------------------------------------------------------

SIGNATURES, LEDGER_KEY = "certificates/test_signatures.py", "ledger/test_ledger_key.py"

SIGNED = (
    Mutation(
        "a public key that everybody can sign with",
        "signing.py",
        '    y = (int.from_bytes(raw, "little") & (2**255 - 1)) % _P',
        '    y = int.from_bytes(raw, "little")',
        ("test_signing.py",),
    ),
    Mutation(
        "public keys of order 8",
        "signing.py",
        "return y * (y**2 - 1) * (_D * y**4 + 2 * y**2 - 1) % _P == 0",
        "return y * (y**2 - 1) % _P == 0",
        ("test_signing.py",),
    ),
    Mutation(
        "users with more noisy claims than their promise is about",
        "files/certificates.py",
        "    if found is not None and found > most:\n",
        "    if found is None:\n",
        (SIGNED_TABLES,),
    ),
    Mutation(
        "rows of a CSV file that are those of a Parquet file's digest",
        "files/rows.py",
        'ROWS_DIGEST = "rows_sha256"',
        'ROWS_DIGEST = "sha256"',
        (SIGNED_TABLES,),
    ),
    Mutation(
        "a signature that does not cover the digests of files",
        "certificates/signature.py",
        'if name != "signature"}',
        'if name not in ("signature", "contents")}',
        (SIGNATURES,),
    ),
    Mutation(
        "a signature that is not checked",
        "certificates/signature.py",
        '    if not key.signed(signed_bytes(given), signature["value"]):\n',
        "    if False:\n",
        (SIGNATURES,),
    ),
    Mutation(
        "signatures that fit whatever is signed for another purpose",
        "certificates/signature.py",
        "return _DOMAIN + text",
        "return text",
        (SIGNATURES,),
    ),
    Mutation(
        "a seeded release that is signed",
        "certificates/signature.py",
        "    if key is None or certificate.seeded:\n",
        "    if key is None:\n",
        (SIGNATURES,),
    ),
    Mutation(
        "another key than the named one accepted",
        "files/public_keys.py",
        "    if checked.signer != key:\n",
        "    if False:\n",
        (SIGNATURES,),
    ),
    Mutation(
        "what is not signed accepted where a key is named",
        "files/public_keys.py",
        """    if checked.signer is None:
        raise""",
        """    if checked.signer is None:
        return checked
        raise""",
        (SIGNATURES,),
    ),
    Mutation(
        "published files that are not compared with their digests",
        "files/published.py",
        "if not path.is_file() or _digest(path) != listed[name]:",
        "if not path.is_file():",
        (SIGNATURES,),
    ),
    Mutation(
        "files added to a release without notice",
        "files/published.py",
        "sorted(entries.keys() - listed.keys())",
        "sorted(set())",
        (SIGNATURES,),
    ),
    Mutation(
        "rows of a Parquet file that are not compared with their digest",
        "files/certificates.py",
        "if tied and checked.certificate.contents.get(ROWS_DIGEST) != rows_of_parquet(_from_start(file)):",
        "if tied and ROWS_DIGEST not in checked.certificate.contents:",
        (SIGNED_TABLES,),
    ),
    Mutation(
        "a signed certificate that speaks for a folder of other files",
        "files/certificates.py",
        "(files is None and checked.signer is not None)",
        "False",
        (SIGNED_TABLES,),
    ),
    Mutation(
        "a signed certificate that speaks for any table",
        "files/certificates.py",
        "tied = checked.must_be_tied or ROWS_DIGEST in checked.certificate.contents",
        "tied = ROWS_DIGEST in checked.certificate.contents",
        (SIGNED_TABLES,),
    ),
    Mutation(
        "texts of which only the letters count, and not where each ends",
        "files/rows.py",
        "self._lengths.update(_little_endian(texts.bin.size().cast(pl.UInt64)))",
        "self._lengths.update(b'')",
        ("files/test_rows.py",),
    ),
    Mutation(
        "reports that are read before their rows are compared",
        "files/cell_reports.py",
        "        in_parquet(path, path)  # refuses other rows\n",
        "",
        (SIGNED_TABLES,),
    ),
    Mutation(
        "a table's key looked for when it is charged already",
        "operations/synthesize.py",
        "key = account.key(seeded=not rng.private)",
        "key = None",
        (SIGNED_TABLES,),
    ),
    Mutation(
        "the key looked for when the release is charged already",
        "operations/release.py",
        "key = account.key(seeded=not rng.private)",
        "key = None",
        (SIGNATURES,),
    ),
    Mutation(
        "a ledger's key that others can read",
        "ledger/key.py",
        "mode & (stat.S_IRWXG | stat.S_IRWXO)",
        "mode & stat.S_IRWXO",
        (LEDGER_KEY,),
    ),
    Mutation(
        "a ledger's key that is replaced by a process that comes second",
        "ledger/key.py",
        "os.link(draft, path)",
        "os.replace(draft, path)",
        (LEDGER_KEY,),
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
        "outputs that everybody can open, whatever was asked for",
        "files/reservation.py",
        "draft.chmod(target.mode)",
        "draft.chmod(0o755)",
        ("files/test_writing.py",),
    ),
    Mutation(
        "drafts that everybody can open",
        "files/reservation.py",
        "            path.mkdir(mode=0o700)\n",
        "            path.mkdir()\n",
        ("files/test_reservation.py",),
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

# --- what a release costs in another scope ------------------------------------------------------------------

COUNTED = "accounting/test_scopes.py"
SCOPES = (
    Mutation(
        "a person's epsilon counted once for a claim that comes or goes",
        "accounting/scopes.py",
        '(("user", "add-remove"), ("claim", "add-remove")): TWO',
        '(("user", "add-remove"), ("claim", "add-remove")): ONE',
        (COUNTED,),
    ),
    Mutation(
        "a claim's epsilon counted once for a person",
        "accounting/scopes.py",
        '(("claim", "replace-one"), ("user", "replace-one")): EACH_CLAIM',
        '(("claim", "replace-one"), ("user", "replace-one")): ONE',
        (COUNTED,),
    ),
    Mutation(
        "a value replaced at the cost of one that appears",
        "accounting/scopes.py",
        '(("claim", "add-remove"), ("claim", "replace-one")): TWO',
        '(("claim", "add-remove"), ("claim", "replace-one")): ONE',
        (COUNTED,),
    ),
    Mutation(
        "a trusted collector's release that counts where nobody is trusted",
        "accounting/scopes.py",
        'if scope.trust == "central" and other.trust == "local":',
        'if scope.trust == "local" and other.trust == "central":',
        (COUNTED,),
    ),
    Mutation(
        "a group's epsilon with one change's delta",
        "accounting/scopes.py",
        "epsilon, delta = of_group(guarantee, number)",
        "epsilon, delta = of_group(guarantee, number)[0], guarantee.delta",
        (COUNTED,),
    ),
)

# --- places that are reserved, and runs that are killed -----------------------------------------------------

RESERVATION = "files/test_reservation.py"
RACE = "operations/test_kills.py::test_of_runs_that_race_for_one_place_one_is_charged"
KILLS = "operations/test_kills.py::test_killed_at_any_step_a_run_leaves_whole_outputs_or_none"

RESERVED = (
    Mutation(
        "what is still in a buffer counts as written",
        "files/writing.py",
        "        sys.stdout.flush()\n",
        "",
        (f"{PERTURB}::test_what_does_not_reach_standard_output_is_not_completed",),
    ),
    Mutation(
        "a pipe that nobody reads is charged for",
        "files/certificates.py",
        "        check_stdout()\n",
        "",
        (f"{PERTURB}::test_a_pipe_that_nobody_reads_costs_nothing",),
    ),
    Mutation(
        "two runs with one place",
        "files/reservation.py",
        "fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "pass",
        (RESERVATION, RACE),
    ),
    Mutation(
        "a full disk that shows after the charge",
        "files/reservation.py",
        "        os.fsync(self.lock)\n",
        "",
        (RESERVATION,),
    ),
    Mutation(
        "a public folder in place before the private one",
        "files/reservation.py",
        "            for move in moves:\n                move.take_place(self)\n",
        "            for move in reversed(moves):\n                move.take_place(self)\n",
        (KILLS,),
    ),
    Mutation(
        "a private folder replaced under a public one that is still there",
        "files/reservation.py",
        "            for move in reversed(moves):\n                move.make_way(self)\n",
        "            for move in moves:\n                move.make_way(self)\n",
        (KILLS,),
    ),
    Mutation(
        "outputs left half in place by a run that was killed",
        "files/reservation.py",
        "        if self.placing.exists():\n            with",
        "        self.placing.unlink(missing_ok=True)\n        if self.placing.exists():\n            with",
        (KILLS,),
    ),
    Mutation(
        "drafts left by a run that was killed",
        "files/reservation.py",
        "            _clear_what_was_left(parent)\n",
        "",
        (KILLS,),
    ),
    Mutation(
        "what came meanwhile is replaced",
        "files/reservation.py",
        "if self.replaced and _inode(target) == self.replaced:",
        "if _inode(target):",
        (RESERVATION,),
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
        "for reports in heard:",
        "for reports in heard[:1]:",
        (HEARD,),
    ),
)

# --- campaigns and the service ------------------------------------------------------------------------------

DOCUMENTS = "campaigns/test_documents.py"
PROMISES = "campaigns/test_promises.py"
DEVICES = "campaigns/test_devices_of_campaigns.py"
STORE = "service/test_store_reports.py"
INTAKE = "service/test_intake.py"
NEW = "service/test_new_reports.py"
FENCED = "service/test_worker.py::test_who_is_no_longer_elected_writes_nothing"
DELETION = "service/test_store_deletion.py"

SERVICE = (
    Mutation(
        "a campaign's promise is not compared with what its document says",
        "campaigns/campaign.py",
        "if any(said.get(name) != own[name] for name in own):",
        'if any(said.get(name) != own[name] for name in own if name != "guarantee"):',
        (f"{DOCUMENTS}::test_no_number_of_a_promise_can_be_edited",),
    ),
    Mutation(
        "epsilon of a person is not split over objects",
        "campaigns/sensing.py",
        "epsilon = share_of(epsilon, len(items.listed))",
        "epsilon = share_of(epsilon, 1)",
        (f"{PROMISES}::test_epsilon_for_a_person_is_split_over_all_objects",),
    ),
    Mutation(
        "a person is promised what a claim is",
        "campaigns/statement.py",
        "return certificate.user_promise if person else certificate.promise",
        "return certificate.promise",
        (f"{PROMISES}::test_epsilon_for_a_person_is_split_over_all_objects",),
    ),
    Mutation(
        "all waves cost as much as one",
        "campaigns/statement.py",
        "replace(level, hidden=hidden, epsilon=up(waves * Fraction(level.epsilon)), delta=delta)",
        "replace(level, hidden=hidden, epsilon=level.epsilon, delta=delta)",
        (f"{PROMISES}::test_all_waves_cost_as_often_and_are_rounded_up",),
    ),
    Mutation(
        "the epsilon of all waves is rounded to the nearest float",
        "campaigns/statement.py",
        "epsilon=up(waves * Fraction(level.epsilon))",
        "epsilon=waves * level.epsilon",
        (f"{PROMISES}::test_all_waves_cost_as_often_and_are_rounded_up",),
    ),
    Mutation(
        "a large delta passes without insisting",
        "campaigns/statement.py",
        "if promise.delta > LARGE_DELTA and not insist:",
        "if promise.delta >= 1 and not insist:",
        (f"{PROMISES}::test_a_large_delta_is_refused_unless_somebody_insists",),
    ),
    Mutation(
        "a device answers a question that costs more than promised",
        "campaigns/records.py",
        "            or asked.epsilon > promise.epsilon\n",
        "",
        (f"{DEVICES}::test_a_question_that_costs_more_than_was_promised_is_not_answered",),
    ),
    Mutation(
        "a device answers a question about other columns",
        "campaigns/records.py",
        "if sizes != question.sizes:",
        "if len(sizes) > len(question.sizes):",
        (f"{DEVICES}::test_a_question_about_other_columns_is_not_answered",),
    ),
    Mutation(
        "what cannot be a number is quoted by a device",
        "campaigns/sensing.py",
        "numbers = finite_numbers(list(answer.values())).tolist()",
        "numbers = [float(value) for value in answer.values()]",
        (f"{DEVICES}::test_an_answer_that_cannot_be_used_is_refused_and_never_quoted",),
    ),
    Mutation(
        "values are clamped to the widest range of all objects",
        "campaigns/sensing.py",
        "return (min(max(value, own.low), own.high) - own.low) / own.length",
        "return (value - own.low) / max(each.length for each in self.ranges.values())",
        (f"{DEVICES}::test_values_of_objects_with_their_own_ranges_are_sent_as_shares_of_these",),
    ),
    Mutation(
        "a late report counts in the round that is open",
        "campaigns/records.py",
        "plan = planned(plans, asked.round)",
        "plan = plans[max(plans)] if plans else ()",
        ("campaigns/test_gathering.py::test_a_place_keeps_its_question_whatever_is_planned_later",),
    ),
    Mutation(
        "a second report with another key is accepted",
        "service/store/desk.py",
        "if row is not None and row.seq is not None:  # whatever the state is now",
        'if row is not None and row.seq is not None and bytes(row.key or b"") == submission.key:',
        (f"{STORE}::test_a_report_is_counted_once",),
    ),
    Mutation(
        "whoever is not invited takes part",
        "service/store/desk.py",
        "if self._invited is not None and participant not in self._invited:",
        "if self._invited is not None and not participant:",
        (f"{STORE}::test_only_who_was_invited_takes_part",),
    ),
    Mutation(
        "a place is free again after a withdrawal",
        "service/store/desk.py",
        "if row is not None and row.seq is not None:  # whatever the state is now",
        "if row is not None and row.seq is not None and not row.gone:",
        (f"{STORE}::test_a_withdrawn_report_is_deleted_and_its_place_stays_taken",),
    ),
    Mutation(
        "a withdrawn report is counted out and kept",
        "service/store/reports.py",
        "connection.execute(update(reports).where(*mine, reports.c.seq.is_not(None)).values(payload=None))",
        "connection.execute(update(reports).where(*mine, reports.c.seq.is_not(None)).values(key=None))",
        (f"{STORE}::test_a_withdrawn_report_is_deleted_and_its_place_stays_taken",),
    ),
    Mutation(
        "a place without a report can be used after a withdrawal",
        "service/store/reports.py",
        "    unasked = [row for row in rows if row.seq is None]\n",
        "    unasked = [row for row in rows if row.seq is None and not row.empty]\n",
        (f"{STORE}::test_a_place_without_a_report_is_used_up_by_withdrawing",),
    ),
    Mutation(
        "a token is the same in all campaigns",
        "service/store/reports.py",
        'hashlib.sha256(f"{campaign}\\n{token}".encode())',
        'hashlib.sha256(f"campaign\\n{token}".encode())',
        (f"{STORE}::test_the_same_token_is_somebody_else_in_another_campaign",),
    ),
    Mutation(
        "a report is counted again once another wave is open",
        "service/store/desk.py",
        "if wave.locked.open_number > 1:",
        "if wave.locked.open_number > 1000:",
        (f"{STORE}::test_a_report_that_is_sent_again_after_a_wave_has_opened_is_not_counted_again",),
    ),
    Mutation(
        "reports come in whatever the state is",
        "service/store/locked.py",
        'return None if self._row.state == "open" else closed(self._row.state)',
        "return None",
        (f"{STORE}::test_reports_come_in_only_while_a_campaign_is_open",),
    ),
    Mutation(
        "a wave opens before its cost is on record",
        "service/store/campaigns.py",
        "insert(charges).values(campaign=campaign.number, wave=wave, time=times.now(), promise=stated)",
        "insert(charges).values(campaign=campaign.number, wave=wave + 1, time=times.now(), promise=stated)",
        (f"{STORE}::test_the_cost_of_a_wave_is_on_record_before_anybody_can_report_in_it",),
    ),
    Mutation(
        "the state is read before the lock",
        "service/store/campaigns.py",
        "    lock_waves(connection, campaign.number)\n",
        "",
        ("service/test_store_races.py::test_closing_waits_for_reports_that_are_being_written",),
    ),
    Mutation(
        "no lock is taken while reports are counted",
        "service/store/reports.py",
        "connection.execute(every.with_for_update())",
        "connection.execute(every)",
        ("service/test_store_races.py::test_closing_waits_for_reports_that_are_being_written",),
    ),
    Mutation(
        "a database that isolates more than we need is taken as it is",
        "service/store/database.py",
        ', "isolation_level": "READ COMMITTED"}',
        "}",
        ("service/test_store_races.py::test_a_postgresql_with_other_defaults_is_used_as_we_need",),
    ),
    Mutation(
        "answered before the commit",
        "service/intake.py",
        "            desks.close()\n",
        "            desks.close()\n"
        "            for job, own in zip(jobs, outcomes, strict=True):\n"
        "                job.outcomes = own\n"
        "            self._answer(jobs)\n",
        (f"{INTAKE}::test_a_commit_that_fails_is_no_acceptance",),
    ),
    Mutation(
        "whoever is there already is taken to be new",
        "service/store/bulk.py",
        'f"INSERT INTO {table.name} ({names}) VALUES ({marks})", list(rows)',
        'f"INSERT OR IGNORE INTO {table.name} ({names}) VALUES ({marks})", list(rows)',
        (f"{NEW}::test_the_database_refuses_a_participant_who_is_there",),
    ),
    Mutation(
        "strangers are inserted without an invitation",
        "service/store/locked.py",
        "            and not self.campaign.invited\n",
        "",
        (f"{NEW}::test_strangers_are_not_invited",),
    ),
    Mutation(
        "new reports are inserted whatever the state is",
        "service/store/locked.py",
        "            self.refusal is None\n            and ",
        "            ",
        (f"{NEW}::test_a_campaign_that_is_not_open_takes_nobody",),
    ),
    Mutation(
        "a report of an earlier wave is inserted into a later one",
        "service/store/locked.py",
        "and self.locked.open_number == self.number == 1",
        "and self.number == 1",
        (f"{NEW}::test_later_waves_know_the_reports_of_earlier_ones",),
    ),
    Mutation(
        "a report of another round is inserted",
        "service/store/locked.py",
        "            and all(each.round is None or each.round == self.round for each in submissions)\n",
        "",
        (f"{NEW}::test_a_report_of_another_round_or_wave_is_refused",),
    ),
    Mutation(
        "bodies that wait are not counted",
        "service/bodies.py",
        "return self._waiting <= self._most and",
        "return size <= self._most and",
        ("service/test_sizes.py::test_an_address_has_a_share_and_leaves_room_for_others",),
    ),
    Mutation(
        "bodies that are done with stay counted",
        "service/bodies.py",
        "        self._count(0)\n",
        "        self._size = 0\n",
        ("service/test_sizes.py::test_an_address_has_a_share_and_leaves_room_for_others",),
    ),
    Mutation(
        "an address takes all the room for bodies",
        "service/bodies.py",
        " and self._of[address] <= self._share",
        "",
        ("service/test_sizes.py::test_an_address_has_a_share_and_leaves_room_for_others",),
    ),
    Mutation(
        "whoever dribbles is waited for",
        "service/bodies.py",
        "        if self._size // STEP > steps:\n",
        "        if self._size > 0:\n",
        ("service/test_sizes.py::test_who_sends_a_byte_now_and_then_is_not_waited_for",),
    ),
    Mutation(
        "what came quickly gives time to whoever then waits",
        "service/bodies.py",
        "min(self._step + STEP_SECONDS, self._began + LONGEST)",
        "min(self._step + STEP_SECONDS + self._size / STEP, self._began + LONGEST)",
        ("service/test_sizes.py::test_who_sends_a_byte_now_and_then_is_not_waited_for",),
    ),
    Mutation(
        "lines of whoever hung up are kept",
        "service/api/reports.py",
        "        waiting.clear()\n",
        "        pass\n",
        ("service/test_connections.py::test_lines_of_whoever_hangs_up_are_let_go",),
    ),
    Mutation(
        "the intake keeps the last lines while it waits",
        "service/intake.py",
        "            del jobs, waiting",
        "            pass",
        ("service/test_connections.py::test_lines_of_whoever_hangs_up_are_let_go",),
    ),
    Mutation(
        "one address takes all connections",
        "service/connections.py",
        " and self._of[address] <= self._share",
        "",
        ("service/test_connections.py::test_a_network_of_ipv6_has_one_share",),
    ),
    Mutation(
        "whoever connects and is silent is kept",
        "service/connections.py",
        "            transport.abort()\n        self._wait()\n",
        "            transport.abort()\n",
        ("service/test_connections.py::test_whoever_only_waits_is_not_kept",),
    ),
    Mutation(
        "requests may queue up",
        "service/connections.py",
        " or len(self.pipeline) > MOST_QUEUED",
        "",
        ("service/test_connections.py::test_requests_that_queue_up_end_the_connection",),
    ),
    Mutation(
        "whoever says nothing new is kept",
        "service/connections.py",
        "            self._wait()  # it was no request",
        "            pass  # it was no request",
        ("service/test_connections.py::test_whoever_says_nothing_new_after_an_answer_is_not_kept",),
    ),
    Mutation(
        "headers have no end",
        "service/connections.py",
        "self._loose > HEADER_BYTES or ",
        "",
        ("service/test_connections.py::test_endless_headers_end_the_connection",),
    ),
    Mutation(
        "what was read of a draft is not read again",
        "service/store/locked.py",
        "self._waves, self._row = self._lock()  # a wave",
        "self._waves, _ = self._lock()  # a wave",
        ("service/test_store_races.py::test_a_campaign_that_opens_and_closes_meanwhile_takes_no_report",),
    ),
    Mutation(
        "a result is locked before its campaign",
        "service/worker.py",
        "state.with_for_update(read=True, key_share=True)",
        "state",
        ("service/test_store_races.py::test_deleting_and_writing_a_result_do_not_wait_for_each_other",),
    ),
    Mutation(
        "what is read from a body is not counted",
        "service/bodies.py",
        "self._count(self._size * self._allowed.weight)",
        "self._count(self._size)",
        (
            "service/test_sizes.py::test_small_bodies_are_not_counted_and_large_ones_for_what_is_read_from_them",
        ),
    ),
    Mutation(
        "whoever does not read is waited for",
        "service/guard.py",
        "            async with asyncio.timeout(UNREAD):\n",
        "            async with asyncio.timeout(None):\n",
        ("service/test_sizes.py::test_whoever_does_not_read_is_not_waited_for",),
    ),
    Mutation(
        "the waves of a campaign do not know each other's reports",
        "service/store/desk.py",
        "        self._keys[participant, submission.key] = KeptKey(self.wave, gone=False)\n",
        "",
        (f"{NEW}::test_a_report_is_counted_in_one_wave_whatever_its_copies_name",),
    ),
    Mutation(
        "the plan of a first round is not kept",
        "service/store/campaigns.py",
        "    if planned is not None:\n",
        "    if planned is None:\n",
        (f"{STORE}::test_what_the_first_round_asks_is_on_record_when_a_wave_opens",),
    ),
    Mutation(
        "the plan of a first round that was kept is not followed",
        "campaigns/records.py",
        "return plans[number] if number else plans.get(0, Plan())",
        "return plans[number] if number else Plan()",
        ("campaigns/test_gathering.py::test_the_plan_of_the_first_round_is_followed_if_it_was_kept",),
    ),
    Mutation(
        "an object twice in one report is received",
        "local/perturbed.py",
        " or sum(map(len, map(dict, payloads))) < len(pairs):",
        ":",
        ("local/test_kept_rows.py::test_claims_of_a_report_may_come_in_any_order_and_no_object_twice",),
    ),
    Mutation(
        "who takes reports away is not written down",
        "service/api/results.py",
        '    _note(service, operator, campaign, f"reports of wave {wave}")\n',
        "",
        ("service/test_http_contract.py::test_who_takes_reports_away_is_in_the_journal",),
    ),
    Mutation(
        "a certificate is silent about other waves",
        "campaigns/campaign.py",
        '{**certificate.public, "waves": self.waves}',
        "certificate.public",
        ("service/test_http_results.py::test_certificates_say_that_there_are_other_waves",),
    ),
    Mutation(
        "a report that could not be written is acknowledged",
        "service/intake.py",
        "job.outcomes = [UNAVAILABLE] * job.size",
        "job.outcomes = [201] * job.size",
        (f"{INTAKE}::test_a_commit_that_fails_is_no_acceptance",),
    ),
    Mutation(
        "whoever was elected once writes for ever",
        "service/election.py",
        "        if holder != self._me:\n",
        "        if holder is None:\n",
        (FENCED, "service/test_election.py::test_what_a_stalled_holder_writes_is_not_kept"),
    ),
    Mutation(
        "a result is written without asking who is elected",
        "service/worker.py",
        "            self._election.fenced(connection)\n            state = select(",
        "            state = select(",
        (FENCED,),
    ),
    Mutation(
        "estimates keep those who all withdrew",
        "service/worker.py",
        "if changed and folded.after and time.monotonic() >= folded.due:",
        "if changed and folded.reports and time.monotonic() >= folded.due:",
        ("service/test_worker.py::test_once_everybody_has_withdrawn_nothing_is_left_of_them",),
    ),
    Mutation(
        "a withdrawn report stays in what the worker has read",
        "service/worker.py",
        "if folded is None or folded.withdrawn != wave.withdrawn:",
        "if folded is None:",
        ("service/test_worker.py::test_a_withdrawn_report_is_gone_from_the_next_result",),
    ),
    Mutation(
        "what is deleted stays in the file",
        "service/store/database.py",
        '        "secure_delete=ON",\n',
        '        "secure_delete=OFF",\n',
        (f"{DELETION}::test_sqlite_keeps_no_byte_of_a_withdrawn_report",),
    ),
    Mutation(
        "what is deleted stays in the log",
        "service/store/database.py",
        'raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()',
        'raw.execute("SELECT 0, 0, 0").fetchone()',
        (f"{DELETION}::test_sqlite_keeps_no_byte_of_a_withdrawn_report",),
    ),
)

# --- the client of campaigns --------------------------------------------------------------------------------

CLIENT = "client/test_campaign_client.py"
MEMORY = "client/test_memory.py"
SEND = "cli/test_send_command.py"

SENT = (
    Mutation(
        "whoever has reported already is drawn for again",
        "client/delivery.py",
        'if answer.said.get("reported") is True:',
        'if answer.said.get("reported") is None:',
        (f"{CLIENT}::test_nothing_is_drawn_for_whoever_is_not_invited_or_has_reported_already",),
    ),
    Mutation(
        "the owner's limit counts one wave",
        "client/limits.py",
        'own = times(Level("", promised["epsilon"], promised["delta"]), waves)',
        'own = times(Level("", promised["epsilon"], promised["delta"]), 1)',
        (f"{CLIENT}::test_a_campaign_beyond_the_owners_limits_is_refused",),
    ),
    Mutation(
        "the owner's limit for a person counts a claim",
        "client/limits.py",
        'promised["all_waves"][-1]',
        'promised["all_waves"][0]',
        (f"{CLIENT}::test_a_campaign_beyond_the_owners_limits_is_refused",),
    ),
    Mutation(
        "a campaign can ask something else under the same name",
        "client/memory.py",
        'if row["document"] != document:',
        "if row is None:",
        (f"{CLIENT}::test_a_campaign_that_changes_while_it_runs_is_refused",),
    ),
    Mutation(
        "people have one token in all campaigns",
        "client/memory.py",
        "json.dumps([purpose, campaign, normalize",
        'json.dumps([purpose, "", normalize',
        (f"{MEMORY}::test_tokens_and_hashes_differ_between_people_campaigns_and_memories",),
    ),
    Mutation(
        "tokens follow from names",
        "client/memory.py",
        "hmac.new(self._secret, message",
        'hmac.new(b"crowdveil", message',
        (f"{MEMORY}::test_tokens_and_hashes_differ_between_people_campaigns_and_memories",),
    ),
    Mutation(
        "what is drawn is kept by whoever asks first, and drawn by all",
        "client/memory.py",
        'db.execute("BEGIN IMMEDIATE")',
        'db.execute("BEGIN")',
        (f"{MEMORY}::test_threads_that_draw_at_once_draw_once",),
    ),
    Mutation(
        "a token that answered under another name is not looked up",
        "client/memory.py",
        '_OTHERS + "participant = ?", (*others, draft.participant)',
        '_OTHERS + "participant IS NULL", others',
        (
            f"{CLIENT}::test_a_token_is_answered_for_once_however_its_name_is_spelt",
            f"{MEMORY}::test_a_token_has_one_report_in_a_wave_under_one_name",
        ),
    ),
    Mutation(
        "a server can ask in more waves than it promised",
        "client/campaign_client.py",
        "if not 1 <= wave <= campaign.waves and",
        "if wave < 1 and",
        (f"{CLIENT}::test_a_campaign_that_promises_something_else_is_refused",),
    ),
    Mutation(
        "answers follow redirects",
        "client/campaign_client.py",
        "follow_redirects=False",
        "follow_redirects=True",
        (f"{CLIENT}::test_redirects_are_not_followed",),
    ),
    Mutation(
        "anybody can pass for the server",
        "client/campaign_client.py",
        "            timeout=timeout,\n",
        "            timeout=timeout,\n            verify=False,\n",
        (f"{CLIENT}::test_a_server_that_nobody_vouches_for_is_refused_at_once",),
    ),
    Mutation(
        "the example of a dry run is somebody's",
        "client/send.py",
        "(answer := _made_up(prepared.campaign))",
        "(answer := prepared.people.people[0].answer)",
        (f"{SEND}::test_the_example_of_a_dry_run_is_nobodys",),
    ),
    Mutation(
        "whoever said nothing does not report",
        "client/people.py",
        'everybody = kind.name == "sparse"',
        'everybody = kind.name == "records"',
        (f"{SEND}::test_in_a_sparse_campaign_everybody_who_is_listed_reports",),
    ),
)

# --- pages of operators -------------------------------------------------------------------------------------

FORGED = "service/test_operator_pages.py::test_no_other_site_can_send_a_form"
WHO_MAY = "service/test_operator_pages.py::test_a_page_answers_only_whoever_may_ask"
SIGNING_IN = "service/test_operator_pages.py::test_signing_in_and_out"

PAGES = (
    Mutation(
        "a form needs no key",
        "service/web/session.py",
        'hmac.compare_digest(fields.get(KEY, "").encode(), session.form_key.encode())',
        "True",
        (FORGED,),
    ),
    Mutation(
        "all operators have one key",
        "service/web/session.py",
        "hmac.new(self.token.encode(), b",
        'hmac.new(b"", b',
        (FORGED,),
    ),
    Mutation(
        "a form may come from another site",
        "service/web/session.py",
        "    if not own:\n",
        "    if not own and site is None:\n",
        (FORGED,),
    ),
    Mutation(
        "in old browsers a form may come from another site",
        "service/web/session.py",
        "own = origin in [",
        "own = True or origin in [",
        (FORGED,),
    ),
    Mutation(
        "scripts can read the cookie",
        "service/web/session.py",
        "        httponly=True,\n",
        "        httponly=False,\n",
        (SIGNING_IN,),
    ),
    Mutation(
        "the cookie is sent without encryption",
        "service/web/session.py",
        '        secure=request.url.scheme == "https",\n',
        "        secure=False,\n",
        ("service/test_operator_pages.py::test_over_https_the_cookie_goes_nowhere_else",),
    ),
    Mutation(
        "viewers change campaigns on pages",
        "service/web/session.py",
        'return with_role(service, session.operator, id, "owner")',
        'return with_role(service, session.operator, id, "viewer")',
        (WHO_MAY,),
    ),
    Mutation(
        "strangers see campaigns",
        "service/auth.py",
        "    if own is None:\n",
        "    if own is None and role == 'owner':\n",
        (WHO_MAY,),
    ),
    Mutation(
        "signing out ends nothing",
        "service/api/operators.py",
        "        operators.end_token(connection, token)\n",
        "",
        (SIGNING_IN,),
    ),
    Mutation(
        "a token signs in whoever knows another name",
        "service/web/sign_in.py",
        " and operator.name == name",
        "",
        ("service/test_operator_pages.py::test_a_wrong_secret_is_refused_and_not_shown",),
    ),
    Mutation(
        "signing in leads to another site",
        "service/web/page.py",
        ' and not address.startswith("//")',
        "",
        ("service/test_operator_pages.py::test_nobody_is_led_to_another_site",),
    ),
    Mutation(
        "sign-ins on the page are not limited",
        "service/web/sign_in.py",
        '    service.limits.check("sign-ins", address_of(request))\n',
        "",
        ("service/test_operator_pages.py::test_sign_ins_are_limited",),
    ),
    Mutation(
        "a bound on guesses is rounded to the nearest",
        "service/web/guesses.py",
        "ceil(1000 * share)",
        "round(1000 * share)",
        ("service/test_web_pages.py::test_a_share_that_is_promised_is_rounded_up",),
    ),
    Mutation(
        "the cookie of a session is a token of the API",
        "service/store/operators.py",
        "if not token.startswith(prefix):",
        "if not token.startswith((PREFIX, SESSION)):",
        ("service/test_operator_pages.py::test_a_session_serves_pages_alone_and_prolongs_nothing",),
    ),
    Mutation(
        "a token that expires signs in, and so prolongs itself",
        "service/store/operators.py",
        "(lasting or row.expires <= times.now())",
        "row.expires <= times.now()",
        ("service/test_operator_pages.py::test_a_session_serves_pages_alone_and_prolongs_nothing",),
    ),
    Mutation(
        "the bound on guesses of one wave is shown for all",
        "service/web/guesses.py",
        '+ [("all_waves", waves)]',
        '+ [("levels", waves)]',
        ("service/test_operator_pages.py::test_a_preview_tells_what_one_wave_and_all_waves_cost",),
    ),
)

SPREAD = (
    Mutation(
        "claims that change between two looks of Spark",
        "engines/spark/blocks.py",
        "if _content(element) != contents[part]:",
        "if len(_content(element)) != len(contents[part]):",
        ("operations/test_spark_operations.py::test_what_changes_while_it_is_read_ends_the_run",),
    ),
    Mutation(
        "spills of workers that are not encrypted",
        "engines/spark/cluster.py",
        '"spark.io.encryption.enabled": "true",',
        "",
        ("end_to_end/test_spark_cluster.py",),
    ),
    Mutation(
        "files with the rows of a block each",
        "engines/spark/writing.py",
        "firsts = [first for first, _ in ranges(offsets, ROWS_OF_A_FILE)]",
        "firsts = [first for first in table.firsts[:-1]] or [0]",
        ("operations/test_spark_operations.py",),
    ),
    Mutation(
        "rows beside a table in parts that its certificate does not tell of",
        "files/certificates.py",
        "besides = any(path.name not in NO_ROWS for path in {*folder.iterdir()} - {*parts})",
        "besides = False",
        ("operations/test_spark_operations.py",),
    ),
    Mutation(
        "noise of a block that has another number where it is drawn again",
        "engines/spark/calls.py",
        "yield function(whole, sent.value(), *given.parts(whole, own))",
        "yield function(numbered(block, 0), sent.value(), *given.parts(whole, own))",
        ("engines/test_spark_engine.py::test_without_a_seed_objects_draw_by_their_numbers",),
    ),
    Mutation(
        "pages of a part that end where blocks end",
        "engines/spark/writing.py",
        "_joined(each).rechunk().to_arrow()",
        "_joined(each).to_arrow()",
        ("engines/test_parquet_tables.py",),
    ),
    Mutation(
        "pages of a table that end where its batches end",
        "engines/parquet.py",
        "group = table.rechunk().to_arrow()",
        "group = table.to_arrow()",
        ("engines/test_parquet_tables.py",),
    ),
    Mutation(
        "too many people are refused after they were charged",
        "operations/synthesize.py",
        "        check_people(len(records))\n",
        "",
        ("operations/test_synthesize_operation.py",),
    ),
    Mutation(
        "noise in memory that only fits on disk",
        "claims.py",
        "there[self.order] = numbers[:]",
        "there[self.order] = numbers",
        ("operations/test_bounded_memory.py",),
    ),
    Mutation(
        "a full disk is noticed after the charge",
        "engines/stored/laying_out.py",
        "    check_room(ON_DISK * rows.count)\n",
        "",
        ("engines/test_spilled.py",),
    ),
    Mutation(
        "streams of names that come round",
        "randomness/__init__.py",
        "if first + len(names) > MOST_NAMES:",
        "if len(names) > MOST_NAMES:",
        ("randomness/test_streams.py",),
    ),
)

MUTATIONS = (
    *NOISE,
    *SPLIT,
    *USED,
    *SCOPES,
    *LEDGER,
    *LOCAL,
    *STREAMS,
    *SIGNED,
    *TOLD,
    *RESERVED,
    *AUDITS,
    *SERVICE,
    *SENT,
    *PAGES,
    *SPREAD,
)
