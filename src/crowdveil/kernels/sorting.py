"""Sorting and searching. (NumPy's sorts take numba five seconds to compile; these compile far faster.)"""

from __future__ import annotations

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.compiled import compiled

_RUN = 16  # length of the runs that are sorted by insertion


@compiled
def ascending(x: Floats, order: Ints, spare: Ints) -> None:
    """Fill `order` with the indices that sort x, by a stable merge sort; `spare` is scratch."""
    n = x.size
    for s in range(n):
        begin = s - s % _RUN
        t = s
        while t > begin and x[order[t - 1]] > x[s]:
            order[t] = order[t - 1]
            t -= 1
        order[t] = s
    width = _RUN
    while width < n:
        for begin in range(0, n, 2 * width):
            middle = begin + width if begin + width < n else n
            end = begin + 2 * width if begin + 2 * width < n else n
            left, right = begin, middle
            for to in range(begin, end):
                if left < middle and (right == end or x[order[left]] <= x[order[right]]):
                    spare[to] = order[left]
                    left += 1
                else:
                    spare[to] = order[right]
                    right += 1
        for s in range(n):
            order[s] = spare[s]
        width *= 2


@compiled
def sort(x: Floats | Ints | Codes) -> None:
    """Sort numbers in place: by insertion if they are few, else by heapsort."""
    n = x.size
    if n <= 4 * _RUN:
        for s in range(1, n):
            number = x[s]
            t = s
            while t > 0 and x[t - 1] > number:
                x[t] = x[t - 1]
                t -= 1
            x[t] = number
        return
    for root in range(n // 2 - 1, -1, -1):
        _sink(x, root, n)
    for end in range(n - 1, 0, -1):
        x[0], x[end] = x[end], x[0]
        _sink(x, 0, end)


@compiled
def _sink(x: Floats | Ints | Codes, root: int, end: int) -> None:
    """Sift the number at `root` down to its position in the heap x[:end]."""
    number = x[root]
    child = 2 * root + 1
    while child < end:
        if child + 1 < end and x[child + 1] > x[child]:
            child += 1
        if x[child] <= number:
            break
        x[root] = x[child]
        root = child
        child = 2 * root + 1
    x[root] = number


@compiled
def first_above(x: Floats, value: float) -> int:
    """Index of the first element of ascending x above the value; x.size if there is none."""
    low, high = 0, x.size
    while low < high:
        middle = (low + high) // 2
        if x[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low
