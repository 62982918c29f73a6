"""When each CUDA graph was captured, and from which line. PyTorch's history has the requests and their pools, and
nothing of captures: the agent reads the clock before and after each, and writes a range as `record_function` does.
"""

from __future__ import annotations

import functools
import sys
import time
from typing import Any, NamedTuple

import torch

from ..memory.stacks import variables_of
from .device_reads import outside, place

MOST = 4096  # captures
DEEPEST = 8  # frames of the program whose variables are looked at
NAME = "CUDA graph in pool"  # Go's analysis/graphs.go finds the ranges by it

Numbers = dict[tuple[int, str], int]  # the values of variables, by how far out their frame is, and their name


class _Capture(NamedTuple):
    """A capture that has begun: its time is microseconds since 1970."""

    began: int
    device: int
    line: str
    numbers: Numbers


class Captures:
    """Notes captures. The program's own threads call the methods. Of a graph nothing is kept."""

    def __init__(self) -> None:
        self._open: dict[int, _Capture] = {}  # by the id of the graph
        self._ended: list[tuple[_Capture, int, tuple[int, int]]] = []  # with the time of the end and the pool

    def begin(self) -> None:
        """Replace PyTorch's two methods."""
        graph: Any = torch.cuda.CUDAGraph
        begin, end = graph.capture_begin, graph.capture_end

        @functools.wraps(begin)
        def capture_begin(of: Any, *arguments: Any, **named: Any) -> Any:
            frame = _program(sys._getframe(1))
            began = _Capture(_now(), torch.cuda.current_device(), place(frame), _numbers(frame))
            result = begin(of, *arguments, **named)
            self._open[id(of)] = began
            return result

        @functools.wraps(end)
        def capture_end(of: Any, *arguments: Any, **named: Any) -> Any:
            result = end(of, *arguments, **named)
            if (began := self._open.pop(id(of), None)) is not None and len(self._ended) < MOST:
                self._ended.append((began, _now(), tuple(of.pool())))
            return result

        graph.capture_begin, graph.capture_end = capture_begin, capture_end

    def write(self, contents: dict[str, Any]) -> None:
        """Add the captures to a snapshot, if its release of PyTorch has ranges."""
        ranges = contents.get("external_annotations")
        if ranges is None:
            return
        lines: dict[str, list[_Capture]] = {}
        for began, *_ in self._ended:
            lines.setdefault(began.line, []).append(began)
        tells = {line: _tells_apart([capture.numbers for capture in captures]) for line, captures in lines.items()}
        for began, end, pool in self._ended:
            variable = tells[began.line]
            value = f", {variable[1]}={began.numbers[variable]}" if variable else ""
            name = f"{NAME} ({pool[0]}, {pool[1]}), {began.line or 'PyTorch'}{value}"
            for stage, at in (("START", began.began), ("END", end)):
                ranges.append({"name": name, "stage": stage, "device": began.device, "time_us": at})


def _now() -> int:
    return time.time_ns() // 1000


def _program(frame: Any) -> Any:
    """Return the innermost frame outside PyTorch and what it has compiled, None if there is none."""
    frame = outside(frame)
    while frame is not None and "torchinductor" in frame.f_code.co_filename:
        frame = outside(frame.f_back)
    return frame


def _numbers(frame: Any) -> Numbers:
    """Return the whole numbers that the program's variables have: the size of a batch may be one."""
    found: Numbers = {}
    for depth in range(DEEPEST):
        if frame is None:
            break
        found.update({(depth, name): value for name, value in variables_of(frame).items() if type(value) is int})
        frame = _program(frame.f_back)
    return found


def _tells_apart(captures: list[Numbers]) -> tuple[int, str] | None:
    """Return the variable that has another value in each of several captures of a line, the innermost; a counter only
    if there is no other. None if there is none."""
    if len(captures) < 2:
        return None
    able = [v for v in captures[0] if all(v in c for c in captures)]
    able = [v for v in able if len({c[v] for c in captures}) == len(captures)]
    return min(able, key=lambda v: _counts([c[v] for c in captures]), default=None)


def _counts(values: list[int]) -> bool:
    return all(after - before == 1 for before, after in zip(values, values[1:]))
