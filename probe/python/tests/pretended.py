"""A program that pretends to train, for tests of the link and of viewers.

Run as a script with the path of a host, it prints the path of its socket, and makes a step for each line on its
standard input.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from memtop.link.program import Json, Refused
from memtop.link.queue import ALLOC, FREE, STEP, STEP_BEGIN, STEP_END, Link, now_us

PARAMETERS, ACTIVATIONS = 12, 200


class Pretended:
    """Has parameters that stay, and activations that come and go with each step."""

    def __init__(self, link: Link, read_only: bool = False) -> None:
        self.link = link
        self.read_only = read_only
        self.viewers: list[int] = []  # the counts, one after the other
        self.step = 0
        self.amp = "off"
        self.asked: dict[str, int] = {}  # the values for later steps, with the step of each
        self.refuses = False
        self.cached = False  # there is a caching allocator, which reports its memory in snapshots
        self.gauges: list[Json] = []
        self.looks = 0  # that the host has asked for
        self.sizes: dict[int, int] = {}
        self.stack = self._stack()

    def _alive(self) -> int:
        return sum(self.sizes.values())

    def greeting(self) -> Json:
        return {"version": "1", "who": {"writer": "a pretended program"}, "program": self.describe(False)}

    def describe(self, gauges: bool) -> Json:
        alive = self._alive()
        device = {"device": 0, "allocated_bytes": alive, "reserved_bytes": alive, "requested_bytes": alive}
        return {
            "devices": [device], "settings": {} if self.cached else {"allocator": "none"}, "notices": [],
            "read_only": self.read_only, "looked": bool(self.sizes), "looking": False, "options": self.options(),
            **({"gauges": self.gauges} if gauges else {}),
        }  # fmt: skip

    def options(self) -> list[Json]:
        choices = ["off", "bf16"]
        return [{"key": "amp", "value": self.amp, "about": "precision of the forward pass", "choices": choices}]

    def on_viewers(self, count: int) -> None:
        self.viewers.append(count)
        if count and not self.sizes:
            for number in range(PARAMETERS):
                self._alloc(number, 65536, "parameter", f"layers.{number}.weight")

    def on_look(self) -> None:
        self.looks += 1

    def change(self, key: str, value: str, at: int = 0) -> None:
        if self.refuses:
            raise Refused("the program does not want to")
        if 0 < at <= self.step:
            raise Refused(f"step {at} has begun already")
        self.asked = {value: at}
        self._begin(self.step + 1)

    def _begin(self, step: int) -> None:
        """Use the requested values that are due at this step."""
        for value in [value for value, at in self.asked.items() if at <= step]:
            self.amp = value
            self.asked = {}

    def run(self, steps: int = 1) -> None:
        """Make steps."""
        for _ in range(steps):
            self.step += 1
            self._begin(self.step)
            began = now_us()
            self.link.event(STEP_BEGIN, 0, self.step)
            for number in range(ACTIVATIONS):
                self._alloc(PARAMETERS + number, 4000 + 8 * number, "activation", f"layers.{number % PARAMETERS}")
            peak = self._alive()
            for number in reversed(range(ACTIVATIONS)):
                self._free(PARAMETERS + number)
            self.link.event(STEP_END, 0, self.step)
            self.link.message(STEP, self._measured(began, peak))

    def _measured(self, began: int, peak: int) -> Json:
        alive = self._alive()
        step: dict[str, Any] = {"step": self.step, "time_us": now_us(), "duration_ns": (now_us() - began) * 1000}
        step.update(loss=1 / self.step, device=0, allocated_bytes=alive, reserved_bytes=alive)
        step.update(peak_allocated_bytes=peak, peak_reserved_bytes=peak)
        step["categories"] = [{"name": "parameter", "bytes": alive}]
        step["categories_at_peak"] = [
            {"name": "parameter", "bytes": alive},
            {"name": "activation", "bytes": peak - alive},
        ]
        step["settings"] = [{"key": "amp", "value": self.amp}]
        step["layers"] = [
            {
                "name": f"layers.{number}", "class": "Linear", "output_shape": "[8, 128]", "dtype": "f32",
                "parameter_bytes": 65536, "output_bytes": 4096, "saved_bytes": 8192, "forward_ns": 1000,
                "backward_ns": 2000, "calls": 1,
            }
            for number in range(PARAMETERS)
        ]  # fmt: skip
        return step

    def _stack(self) -> int:
        tables = self.link.tables
        inner, outer = tables.frame("model.py", "forward", 42), tables.frame("train.py", "<module>", 7)
        return tables.stacks.number((inner, outer))

    def _alloc(self, place: int, size: int, category: str, layer: str) -> None:
        note = self.link.tables.note(category, layer)
        self.sizes[place] = size
        self.link.event(ALLOC, _address(place), size, self.stack, note)

    def _free(self, place: int) -> None:
        self.link.event(FREE, _address(place), self.sizes.pop(place))


def _address(place: int) -> int:
    return 0x7F00_0000_0000 + place * 0x20_0040


def main() -> None:
    link = Link()
    program = Pretended(link)
    link.begin(program, sys.argv[1])
    print(link.path, flush=True)
    for _ in sys.stdin:
        program.run()
        link.wake()


if __name__ == "__main__":
    main()
