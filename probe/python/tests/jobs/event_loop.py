"""It trains in tasks of an event loop of its own policy, with context variables and signals that the loop handles."""

import asyncio
import contextvars
import os
import signal

import training

losses, signals = {}, []
name = contextvars.ContextVar("name")


class Policy(asyncio.DefaultEventLoopPolicy):
    made = 0

    def new_event_loop(self):
        Policy.made += 1
        return super().new_event_loop()


async def train(number):
    name.set(f"task {number}")
    own = training.Training(seed=number)
    for turn in range(training.SECONDS * 30):
        loss = own.step()
        await asyncio.sleep(0.01)
        if number == 0 and turn % 30 == 15:
            os.kill(os.getpid(), signal.SIGUSR1)
    losses[name.get()] = loss.item().hex()


async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, signals.append, 1)
    await asyncio.gather(*(train(number) for number in range(3)))
    return len(asyncio.all_tasks())


asyncio.set_event_loop_policy(Policy())
print(asyncio.run(main()), Policy.made, len(signals), sorted(losses.items()))
