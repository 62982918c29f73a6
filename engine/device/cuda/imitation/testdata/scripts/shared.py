"""Another process opens what this one has on the device: it has its sizes, and takes no memory there."""

import torch
import torch.multiprocessing as mp


def worker(weights, count, back):
    assert weights.shape == (1 << 20,) and torch.cuda.memory_reserved() == 0
    grown = weights * 2
    back.put((grown.numel(), torch.cuda.memory_allocated()))
    count.fill_(7)
    back.get()


if __name__ == "__main__":
    mp.set_start_method("spawn")
    weights = torch.randn(1 << 20, device="cuda")
    count = torch.tensor([5]).cuda()
    before = torch.cuda.memory_allocated()
    back = mp.SimpleQueue()
    other = mp.Process(target=worker, args=(weights, count, back))
    other.start()
    assert back.get() == (1 << 20, 4 << 20) and torch.cuda.memory_allocated() == before
    back.put(None)
    other.join()
    assert other.exitcode == 0
    assert count.item() == 0, "what the other process may have written is not known"
    print("shared", weights.numel())
