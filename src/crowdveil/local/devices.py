"""What every user's device does, one after the other or on several threads: a simulation of all of them.

Each device has a stream of its user's own name and writes to a place of its own. So what it sends depends
neither on other users nor on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from crowdveil.answers import Answers, Symbols
from crowdveil.arrays import Codes
from crowdveil.randomness import Randomness, Words
from crowdveil.randomness.chacha import STATE_WORDS, start

Send = Callable[[int, Words, Codes, Symbols], None]
"""Called with a user's place, stream, answered objects and their codes; keeps what the device sends."""

USERS_IN_A_BLOCK = 500
CELLS_IN_A_MOMENT = 1_000_000  # fewer are not worth a second thread


def run_devices(answers: Answers, send: Send, *, purpose: str, rng: Randomness) -> None:
    """Have `send` called for every user."""
    key, nonces = rng.streams(answers.users, purpose=purpose)
    users = len(answers.users)

    def block(first: int) -> None:
        state = np.zeros(STATE_WORDS, dtype=np.uint32)
        for user in range(first, min(first + USERS_IN_A_BLOCK, users)):
            a, b = answers.offsets[user], answers.offsets[user + 1]
            start(state, key, nonces[user])
            send(user, state, answers.object_codes[a:b], answers.codes[a:b])

    blocks = range(0, users, USERS_IN_A_BLOCK)
    if users * len(answers.objects) <= CELLS_IN_A_MOMENT:
        for first in blocks:
            block(first)
        return
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(block, blocks))  # takes what went wrong out of the threads
