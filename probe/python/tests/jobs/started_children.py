"""It starts processes by spawn and by a fork server in mid-training, and shares a tensor with each."""

import torch
import torch.multiprocessing as multiprocessing
from training import Training, turns


def child(shared, answers):
    training = Training(seed=2)
    for _ in range(5):
        loss = training.step()
    shared.add_(1)
    answers.put(loss.item().hex())


def main():
    training, shared, said = Training(), torch.zeros(1000).share_memory_(), []
    for turn in turns():
        training.step()
        if turn % 120 == 60:
            context = multiprocessing.get_context(("spawn", "forkserver")[turn // 120 % 2])
            answers = context.SimpleQueue()
            process = context.Process(target=child, args=(shared, answers))
            process.start()
            said.append(answers.get())
            process.join()
            said.append(process.exitcode)
    print(said, shared.sum().item(), training.step().item().hex())


if __name__ == "__main__":
    main()
