"""Mistakes in the JavaScript client that would break a promise: its own tests notice each, in a copy."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from node_side import CLIENT, NODE, needs_node
from test_js_package import FAKE_INDEXEDDB, ROOT

pytestmark = [needs_node, pytest.mark.slow_audit]
VECTORS = ("wire_vectors.json", "oracle_vectors.json")

MUTATIONS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "drawn again in another tab": (("store.js", "if (!this.#entries.has(key)) ", ""),),
    "drawn again in another tab of a browser": (
        ("indexed_store.js", "if (there !== undefined) return done(there);", ""),
        ("indexed_store.js", "entries.add(made, key)", "entries.put(made, key)"),
    ),
    "a new key at each attempt": (("participation.js", "key: kept.key", "key: secretText(18)"),),
    "the answer is kept": (
        ("participation.js", "      outcome: null,", "      outcome: null,\n      answer,"),
    ),
    "the answer is sent": (
        (
            "participation.js",
            "report: JSON.stringify(this.#campaign.report(answer, asked))",
            "report: JSON.stringify({ ...this.#campaign.report(answer, asked), answer })",
        ),
    ),
    "sent before it is remembered": (
        (
            "participation.js",
            "    const seated = this.#campaign.asksByPlace;",
            "    const seated = this.#campaign.asksByPlace;\n"
            "    const early = { participant: this.#participant, key: 'k', wave, report: {} };\n"
            "    await exchange(this.#connection, 'POST', `${this.#published.api}/reports`, early);",
        ),
    ),
    "a campaign may change": (("participation.js", "if (asks !== campaign.asks)", "if (false)"),),
    "drawn again for an invitation that was used": (
        ("participation.js", "if (reported === true && ", "if (reported === null && "),
    ),
    "drawn for an invitation that another device used": (
        (
            "participation.js",
            "return await this.prepare({ ...this.#connection, patience: 0, busy: BUSY });",
            "return asked;",
        ),
    ),
    "limits are not checked": (("participation.js", "campaign.check(limits);", ""),),
    "limits of one wave": (
        ("limits.js", "overWaves(level('', guarantee), guarantee.waves)", "level('', guarantee)"),
    ),
    "a large delta is taken": (("limits.js", "if (!(own.delta <= most))", "if (false)"),),
    "any promise is taken": (("campaign.js", "canonical(numbers) === canonical(this.guarantee)", "true"),),
    "a question may cost anything": (("records.js", "question.oracle.epsilon > this.epsilon", "false"),),
    "more waves than promised": (("client.js", "if (state === 'open' && !(", "if (false && !("),),
    "another campaign than asked for": (("client.js", "reply.said.id !== id || ", ""),),
    "drawn although it is closed": (("participation.js", "if (state !== 'open')", "if (false)"),),
    "a token from a link in an open campaign": (
        (
            "participation.js",
            "if (invitation !== undefined) throw",
            "if (invitation !== undefined) return invitation;\n  if (false) throw",
        ),
    ),
    "an accepted report is sent again": (("store.js", "kept.outcome === ACCEPTED ? kept : ", ""),),
    "paused is taken for an answer": (("participation.js", "if (outcome !== PAUSED) ", ""),),
    "drawn again after a withdrawal": (("participation.js", "if (stopped) throw", "if (false) throw"),),
    "sent after a withdrawal": (("participation.js", "if (stopped) return stopped;", ""),),
    "a withdrawal is forgotten": (
        ("participation.js", "await this.#store.putIfAbsent(mark, ", "await (async () => {})("),
    ),
    "drawn or sent while a withdrawal is under way": (
        ("participation.js", "mark?.outcome === WITHDRAWING ? WITHDRAWING : undefined", "undefined"),
    ),
    "drawn for an invitation because the server is busy": (("participation.js", ", busy: BUSY", ""),),
    "redirects are followed": (("patience.js", "redirect: 'manual'", "redirect: 'follow'"),),
    "Retry-After is not obeyed": (("patience.js", "asked === null ? backedOff : ", "asked ? backedOff : "),),
    "names in the order of UTF-16": (("objects.js", ".sort(byCodePoints)", ".sort()"),),
    "names in any form": (("names.js", "[name.normalize('NFC'), value]", "[name, value]"),),
    "half the noise": (("laplace.js", "strength));\n", "times(strength, fraction(2n))));\n"),),
    "halves away from zero": (("grid.js", "(rest === 0.5 && floor % 2 === 0)", "false"),),
    "no clamp": (
        ("grid.js", "Math.min(Math.max(value, this.low), this.high)", "value"),
        ("grid.js", "Math.min(Math.max(nearest, 0), this.steps)", "nearest"),
    ),
    "rounded down": (
        ("exact.js", "near === Infinity || atMost(exact, exactly(near)) ? near : nextUp(near)", "near"),
    ),
    "no floor": (("variance_per_user.js", "return [(ALWAYS + this.floor)", "return [ALWAYS"),),
    "one variance for each claim": (
        (
            "variance_per_user.js",
            "() => discreteGaussian(words, num, den)",
            "() => discreteGaussian(words, ...this.variance(Math.abs(discreteLaplace(words, CAP / 64, 1))))",
        ),
    ),
    "weights of a question are believed": (
        ("question.js", "canonical(weights) !== canonical(oracle.weights())", "false"),
    ),
}


def noticed(folder: Path, edits: tuple[tuple[str, str, str], ...]) -> bool:
    """Whether the client's own tests fail in a copy with these edits."""
    copy = folder / "clients" / "js"
    shutil.copytree(CLIENT, copy, ignore=shutil.ignore_patterns("node_modules"))
    (folder / "tests" / "local").mkdir(parents=True)
    for name in VECTORS:
        shutil.copy2(ROOT / "tests" / "local" / name, folder / "tests" / "local" / name)
    for name, old, new in edits:
        path = copy / "src" / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, (name, old, text.count(old))
        path.write_text(text.replace(old, new), encoding="utf-8")
    environment = os.environ | ({"FAKE_INDEXEDDB": str(FAKE_INDEXEDDB)} if FAKE_INDEXEDDB.exists() else {})
    tests = sorted(map(str, (copy / "test").glob("*.test.js")))
    assert NODE is not None
    done = subprocess.run(
        [NODE, "--test", *tests], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    assert "SyntaxError" not in done.stdout, done.stdout
    return done.returncode == 1


def test_without_a_mistake_they_pass(tmp_path: Path) -> None:
    assert not noticed(tmp_path, ())


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mistake_is_noticed(name: str, tmp_path: Path) -> None:
    if "browser" in name and not FAKE_INDEXEDDB.exists():
        pytest.skip("needs fake-indexeddb: make js")
    assert noticed(tmp_path, MUTATIONS[name])
