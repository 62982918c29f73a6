"""The numbers for collectors."""

from __future__ import annotations

import pytest
from conftest import Serving

from memtop.metrics import negotiate
from memtop.request import Refusal

OPEN, TEXT = 0, 1


@pytest.mark.parametrize(
    "accept, format",
    [
        (None, OPEN),
        ("", OPEN),
        ("*/*", OPEN),
        ("text/plain", TEXT),
        ("text/*;q=0.9, application/openmetrics-text;q=0.5", TEXT),
        ("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1", OPEN),
        ("application/openmetrics-text;version=2.0.0, text/plain;q=0.1", TEXT),
        ("text/plain;q=nonsense, application/openmetrics-text;q=0.1", OPEN),
        ("application/openmetrics-text;q=0, text/plain;q=0.1", TEXT),
    ],
)
def test_the_format_that_is_liked_best(accept: str | None, format: int) -> None:
    assert negotiate(accept) == format


@pytest.mark.parametrize("accept", ["image/png", "text/plain;q=0", "text/plain;version=9"])
def test_no_format_that_is_liked(accept: str) -> None:
    with pytest.raises(Refusal):
        negotiate(accept)


def metrics(serving: Serving, accept: str) -> dict[str, str]:
    answer = serving.peer().request("/metrics", Accept=accept)
    lines = answer.read().decode().splitlines()
    assert lines[-1] == "# EOF" or accept == "text/plain"
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


def test_metrics_have_the_numbers_of_info(serving: Serving) -> None:
    before = metrics(serving, "*/*")
    assert "memtop_step" not in before and "memtop_device_used_bytes" not in str(before)
    serving.program.run(2)
    gauge = {"device": 0, "device_total_bytes": 1000, "device_used_bytes": -1, "process_bytes": 10}
    serving.program.gauges = [gauge]
    for accept in ("application/openmetrics-text", "text/plain"):
        found = metrics(serving, accept)
        assert found['memtop_allocated_bytes{device="0"}'] == str(12 * 65536)
        assert found['memtop_category_bytes{device="0",category="parameter"}'] == str(12 * 65536)
        assert found['memtop_events_total{device="0"}'] == str(serving.journal.events)
        assert (found["memtop_step"], found["memtop_step_loss"]) == ("2", "0.5")
        assert found['memtop_device_total_bytes{device="0"}'] == "1000"
        assert 'memtop_device_used_bytes{device="0"}' not in found


def test_texts_are_escaped(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    info = serving.program.info()
    object.__setattr__(info, "command", 'a "b" \\ \x1b[2J\n')
    monkeypatch.setattr(serving.program, "info", lambda: info)
    text = serving.peer().request("/metrics").read().decode()
    assert r'command="a \"b\" \\ ' + "\ufffd" + r'[2J\n"' in text


def test_failed_requests_are_counted_where_they_are_known(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    info = serving.program.info()
    assert "memtop_out_of_memory" not in str(metrics(serving, "*/*"))
    object.__setattr__(info, "devices", [memory._replace(out_of_memory=3) for memory in info.devices])
    monkeypatch.setattr(serving.program, "info", lambda: info)
    assert metrics(serving, "*/*")['memtop_out_of_memory_total{device="0"}'] == "3"


def test_memory_that_is_not_known_has_no_metric(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    info = serving.program.info()
    assert "memtop_allocated_bytes" in str(metrics(serving, "*/*"))
    for known_us, there in ((0, False), (1, True)):
        object.__setattr__(info, "devices", [memory._replace(known_us=known_us) for memory in info.devices])
        monkeypatch.setattr(serving.program, "info", lambda: info)
        found = str(metrics(serving, "*/*"))
        assert ("memtop_allocated_bytes" in found, "memtop_reserved_bytes" in found) == (there, there)
        [device] = serving.peer().ask("/v1/info")[1]["devices"]
        assert device["known_us"] == known_us
