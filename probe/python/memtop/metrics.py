"""The numbers of /v1/info as metrics, in OpenMetrics 1.0 or Prometheus' text format 0.0.4."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.message import Message
from typing import Any

from .program import Json
from .request import Refusal

_TYPES = (("application", "openmetrics-text", "1.0.0"), ("text", "plain", "0.0.4"))
_CONTENT_TYPES = [f"{major}/{minor}; version={version}; charset=utf-8" for major, minor, version in _TYPES]

Sample = tuple[dict[str, object], Any]  # labels, value


@dataclass(frozen=True)
class _Family:
    """A metric, and the function that makes its samples. A sample with the value None is left out."""

    name: str
    kind: str  # gauge, counter or info
    unit: str
    help: str
    samples: Callable[[Json], Iterator[Sample]]


def negotiate(accept: str | None) -> int:
    """Return the format that a header Accept prefers: 0 is OpenMetrics, 1 is text."""
    if not (accept or "").strip():
        return 0
    likes = [_quality(type, str(accept)) for type in _TYPES]
    if max(likes) <= 0:
        raise Refusal(406, f"/metrics is {' or '.join(_CONTENT_TYPES)}")
    return likes.index(max(likes))


def content_type(format: int) -> str:
    """Return the content type of a format."""
    return _CONTENT_TYPES[format]


def write(info: Json, format: int) -> bytes:
    """Return the metrics of an answer of /v1/info."""
    lines: list[str] = []
    for family in _FAMILIES:
        samples = [(labels, value) for labels, value in family.samples(info) if value is not None]
        if samples:
            lines += _write(family, samples, format)
    if format == 0:
        lines.append("# EOF")
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _quality(type: tuple[str, str, str], accept: str) -> float:
    """Return how much a header prefers a type, from 0 to 1. The most specific range that matches counts."""
    most, quality = 0, 0.0
    for element in accept.split(","):
        media = Message()
        media["Content-Type"] = element
        try:
            q = float(str(media.get_param("q", "1")))
        except ValueError:
            continue
        says = _matches(type, element.partition(";")[0].strip().lower(), str(media.get_param("version", "")))
        if 0 <= q <= 1 and (says > most or (says == most > 0 and q > quality)):
            most, quality = says, q
    return quality


def _matches(type: tuple[str, str, str], kind: str, version: str) -> int:
    major, minor, own = type
    if kind == f"{major}/{minor}" and version == own:
        return 4
    if version:
        return 0
    return {f"{major}/{minor}": 3, f"{major}/*": 2, "*/*": 1}.get(kind, 0)


def _write(family: _Family, samples: list[Sample], format: int) -> Iterator[str]:
    suffix = {"counter": "_total", "info": "_info"}.get(family.kind, "")
    name = family.name + (suffix if format == 1 else "")
    kind = "gauge" if family.kind == "info" and format == 1 else family.kind
    yield f"# HELP {name} {family.help}"
    yield f"# TYPE {name} {kind}"
    if format == 0 and family.unit:
        yield f"# UNIT {name} {family.unit}"
    for labels, value in samples:
        text = ",".join(f'{key}="{_escape(str(label))}"' for key, label in labels.items())
        yield f"{family.name}{suffix}{f'{{{text}}}' if text else ''} {_number(value)}"


def _number(value: Any) -> str:
    """Return a number. A loss may be a text such as "NaN" already."""
    return value if isinstance(value, str) else repr(value)


def _escape(label: str) -> str:
    label = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in label)
    return label.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _program(key: str) -> Callable[[Json], Iterator[Sample]]:
    return lambda info: iter([({}, info[key] / 1e9 if key.endswith("_ns") else info[key])])


def _last(info: Json) -> Json:
    return dict(info["last_step"])


def _step(value: Callable[[Json], Any]) -> Callable[[Json], Iterator[Sample]]:
    return lambda info: iter([({}, value(info))] if "last_step" in info else [])


def _step_of_device(key: str) -> Callable[[Json], Iterator[Sample]]:
    return lambda info: (({"device": step["device"]}, step[key] or None) for step in _steps(info))  # 0: not measured


def _steps(info: Json) -> list[Json]:
    return [info["last_step"]] if "last_step" in info else []


def _categories(info: Json) -> Iterator[Sample]:
    for step in _steps(info):
        for amount in step["categories"]:
            yield {"device": step["device"], "category": amount["name"]}, amount["bytes"]


def _devices(key: str) -> Callable[[Json], Iterator[Sample]]:
    return lambda info: (({"device": d["device"]}, d.get(key)) for d in info["devices"])


def _memory(key: str) -> Callable[[Json], Iterator[Sample]]:
    return lambda info: (
        ({"device": d["device"]}, d.get(key) if d.get("known_us", 1) else None) for d in info["devices"]
    )


def _gauges(key: str) -> Callable[[Json], Iterator[Sample]]:
    return lambda info: (
        ({"device": g["device"]}, g[key])
        for g in info.get("gauges", ())
        if g[key] >= 0 <= g["device"]  # or the machine
    )


def _rank(info: Json) -> Json:
    """Return the labels of a program's place in its job, none if it runs alone."""
    return {"job_id": info["rank"].get("job", ""), "rank": info["rank"]["rank"]} if "rank" in info else {}


_FAMILIES = [
    _Family("memtop_program", "info", "", "The program that is watched.", lambda info: iter([
        ({"pid": info["pid"], "command": info["command"], "user": info["user"], **_rank(info)}, 1)])),
    _Family("memtop_allocated_bytes", "gauge", "bytes", "Bytes of blocks in use.", _memory("allocated_bytes")),
    _Family("memtop_requested_bytes", "gauge", "bytes", "Bytes that the program asked for and has not freed.",
            _memory("requested_bytes")),
    _Family("memtop_reserved_bytes", "gauge", "bytes", "Bytes held from the driver.", _memory("reserved_bytes")),
    _Family("memtop_events", "counter", "", "Events of the allocator.", _devices("events")),
    _Family("memtop_out_of_memory", "counter", "", "Requests for which there was no memory.",
            _devices("out_of_memory")),
    _Family("memtop_ranks", "gauge", "", "Programs that the program's launcher started together.",
            lambda info: iter([({}, info["rank"]["world"])] if "rank" in info else [])),
    _Family("memtop_step", "gauge", "", "Number of the last training step.", _step(lambda info: info["step"])),
    _Family("memtop_step_duration_seconds", "gauge", "seconds", "How long the last step took.",
            _step(lambda info: info["last_step"]["duration_ns"] / 1e9)),
    _Family("memtop_step_loss", "gauge", "", "Loss of the last step.", _step(lambda info: _last(info).get("loss"))),
    _Family("memtop_step_allocated_bytes", "gauge", "bytes", "Bytes in use right after the last step.",
            lambda info: (sample for sample in _step_of_device("allocated_bytes")(info) if sample[1])),
    _Family("memtop_step_peak_allocated_bytes", "gauge", "bytes", "Most bytes in use within the last step.",
            _step_of_device("peak_allocated_bytes")),
    _Family("memtop_step_peak_reserved_bytes", "gauge", "bytes",
            "Most bytes held from the driver within the last step.", _step_of_device("peak_reserved_bytes")),
    _Family("memtop_category_bytes", "gauge", "bytes", "Requested bytes by purpose after the last step.", _categories),
    _Family("memtop_probe_cost_seconds", "counter", "seconds", "Time for which reporting held up the program.",
            _program("probe_ns")),
    _Family("memtop_probe_viewers_seconds", "counter", "seconds",
            "Time spent on viewers, beside the program where it has cores to spare.", _program("viewers_ns")),
    _Family("memtop_probe_dropped_events", "counter", "", "Events that a viewer was too slow for.",
            _program("dropped_events")),
    _Family("memtop_probe_dropped_steps", "counter", "", "Steps that a viewer was too slow for.",
            _program("dropped_steps")),
    _Family("memtop_probe_viewers", "gauge", "", "Viewers that are watching.", _program("viewers")),
    _Family("memtop_device_total_bytes", "gauge", "bytes", "Bytes of memory that the device has.",
            _gauges("device_total_bytes")),
    _Family("memtop_device_used_bytes", "gauge", "bytes",
            "Bytes of the device's memory that are in use, by any process.", _gauges("device_used_bytes")),
    _Family("memtop_device_process_bytes", "gauge", "bytes", "Bytes of the device's memory that the program uses.",
            _gauges("process_bytes")),
]  # fmt: skip
