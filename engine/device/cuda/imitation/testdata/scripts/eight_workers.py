"""Eight processes are forked before the device is used, and each uses it by itself after a spawn; their parent too."""

import multiprocessing

import torch


def on_host(number):
    return int(torch.full((10,), number).sum())


def on_device(number, results):
    x = torch.ones(1 << 20, device="cuda")
    results.put((number, torch.cuda.memory_allocated(), x.shape[0]))


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(8) as pool:
        assert pool.map(on_host, range(8)) == [10 * n for n in range(8)]
    forks = multiprocessing.get_context("fork")
    results = forks.SimpleQueue()
    workers = [forks.Process(target=on_device, args=(n, results)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0, worker.exitcode
    assert sorted(results.get() for _ in workers) == [(n, 4 << 20, 1 << 20) for n in range(8)]
    torch.ones(1 << 22, device="cuda")
    print("peak", torch.cuda.max_memory_allocated())
