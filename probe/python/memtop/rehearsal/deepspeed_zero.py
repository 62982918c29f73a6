"""DeepSpeed's ZeRO-3 in a rehearsal, whose devices compute nothing.

It compares lists of numbers with those of the first rank, and ends the program if they differ. Here
every rank is assumed to have the same lists as this one.
"""

from __future__ import annotations

import sys
from typing import Any

from ..safety.interrupts import ignored
from ..start.importing import when_imported

UTILITIES = "deepspeed.runtime.zero.utils"


def begin() -> None:
    """Begin as soon as the program imports DeepSpeed."""
    when_imported(UTILITIES, _agree)


def _agree() -> None:
    utilities: Any = sys.modules[UTILITIES]
    lengths = getattr(utilities, "assert_lst_len_same_as_other_ranks", None)
    first = getattr(utilities, "get_lst_from_rank0", None)
    if lengths is None or first is None:
        return

    def same_length(own: list[int]) -> None:
        # it raises because the lists differ, but only after it has taken memory on the device
        with ignored(RuntimeError):
            lengths(own)

    def agreed(own: list[int]) -> list[int]:
        first(own)
        return own

    utilities.assert_lst_len_same_as_other_ranks = same_length
    utilities.get_lst_from_rank0 = agreed
