"""A loader's workers, by fork and by spawn, and its thread that pins."""

import threading

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.full((8,), float(i))


def churn(stop):
    while not stop.is_set():
        torch.empty(1 << 21, device="cuda")
        torch.cuda.empty_cache()


if __name__ == "__main__":
    torch.ones(1, device="cuda")
    stop = threading.Event()  # so that forks happen while another thread is in the library
    threads = [threading.Thread(target=churn, args=(stop,), daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for how, times in ("fork", 4), ("spawn", 1):
        for _ in range(times):
            seen = []
            for batch in DataLoader(Rows(), batch_size=16, num_workers=2, pin_memory=True, multiprocessing_context=how):
                assert batch.is_pinned()
                seen += [row[0] for row in batch.cuda(non_blocking=True).tolist()]
            assert sorted(seen) == list(range(64)), seen
        print(how, len(seen))
    stop.set()
    for thread in threads:
        thread.join()
