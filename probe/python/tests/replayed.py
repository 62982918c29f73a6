"""A program on a device that is not there: the stand-in for PyTorch's allocator, with the agent.

It prints that it is ready, then lets as many events happen as each line of its standard
input says.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from standin import Allocator

from memtop import agent


def main() -> None:
    allocator = Allocator(Path(sys.argv[1]))
    allocator.install()
    agent.start()
    print("ready", flush=True)
    for line in sys.stdin:
        print(allocator.advance(int(line)), flush=True)


if __name__ == "__main__":
    main()
