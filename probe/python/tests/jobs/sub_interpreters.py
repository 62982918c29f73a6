"""It makes other interpreters in its process, each runs code in a thread of its own, while the first trains."""

import os
import threading

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

from training import Training, turns

training, said = Training(), []


def run(number):
    read, write = os.pipe()
    other = interpreters.create()
    interpreters.run_string(other, f"import os, json\nos.write({write}, json.dumps([{number}] * 2).encode())")
    interpreters.destroy(other)
    os.close(write)
    with open(read) as answer:
        said.append(answer.read())


for turn in turns():
    loss = training.step()
    if turn % 60 == 30:
        thread = threading.Thread(target=run, args=(turn // 60,))
        thread.start()
        training.step()
        thread.join()
print(said, loss.item().hex())
