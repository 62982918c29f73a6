"""Training on batches that two workers load and a thread pins: python loaders.py fork|spawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch


class Rows(torch.utils.data.Dataset):  # type: ignore[misc,type-arg]
    def __len__(self) -> int:
        return 256

    def __getitem__(self, number: int) -> Any:
        from training import WIDTH

        return torch.full((16, WIDTH), number / 256)


def main() -> None:
    from training import BATCH, train  # here, as spawned workers import this file too

    loader = torch.utils.data.DataLoader(
        Rows(), BATCH, num_workers=2, pin_memory=True, multiprocessing_context=sys.argv[1], persistent_workers=True
    )

    def endless() -> Iterator[Any]:
        while True:
            yield from loader

    batches = endless()
    train(torch.device("cuda"), batch=lambda: next(batches).cuda(non_blocking=True))


if __name__ == "__main__":
    main()
