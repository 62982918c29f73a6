"""The agent's numbers for models that people train, as `test_watch.py` checks them; `counted.py` counts categories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from subjects import SUBJECTS, Subject  # noqa: E402
from test_watch import OfAModel, watch  # noqa: E402, F401


def job_of(make: Callable[[], Subject]) -> Any:
    def made() -> tuple[Any, Any]:
        subject = make()
        return subject.model, lambda: (subject.loss_of(subject.model, subject.batch())[0], [])

    return made


@pytest.mark.real
@pytest.mark.parametrize("make", [job_of(make) for make in SUBJECTS.values()], ids=SUBJECTS.keys())
class TestOfASubject(OfAModel):
    pass
