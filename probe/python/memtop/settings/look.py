"""The setting `look`: which steps the agent looks at."""

from __future__ import annotations

from collections.abc import Sequence

from ..watch.sampling import Sampling

SAMPLED, EVERY = "sampled", "every"


class Looking:
    """See `setting.Setting`."""

    key = "look"
    about = "which steps are looked at: some, so that it costs less than 1 %, or every one, whatever it costs"
    once = False
    names = ""
    choices = (SAMPLED, EVERY)

    def __init__(self, budgets: Sequence[Sampling]) -> None:
        self._budgets = budgets

    @property
    def value(self) -> str:
        """The value in use."""
        return EVERY if self._budgets[0].always else SAMPLED

    def ran(self) -> bool:
        """Report that steps are always chosen so."""
        return True

    def check(self, value: str) -> None:
        """Refuse nothing: looking changes nothing of the program."""

    def switch(self, value: str) -> None:
        """Use the value from now on."""
        for budget in self._budgets:
            budget.always = value == EVERY

    def restore(self) -> None:
        """Look at some steps again."""
        self.switch(SAMPLED)
