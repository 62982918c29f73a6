"""What a rehearsed program's objects say of its memory reaches the requests that made it."""

from typing import Any

import pytest
import torch

from memtop.rehearsal import purposes as room
from memtop.rehearsal.keepers import used_by
from memtop.rehearsal.purposes import Look, Purposes


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_workspaces", lambda: {(96, 8)})  # the imitated cuBLAS, which is not here, was given it


def event(action: str, addr: int, time_us: int) -> dict[str, Any]:
    return {"action": action, "addr": addr, "time_us": time_us, "size": 8}


def test_a_note_is_of_what_lives_at_its_address_at_that_moment() -> None:
    first, second, third, fourth = (event("alloc", *at) for at in ((16, 1), (16, 5), (32, 9), (96, 9)))
    trace = [first, event("free_requested", 16, 3), event("free_completed", 16, 4), second, third, fourth]
    blocks = [{"address": address, "state": "active_allocated"} for address in (16, 32, 48)]
    purposes = Purposes()
    purposes._looks = [
        Look(2, {16: {"noted_category": "gradient", "layer": "h.0"}, 48: {"noted_category": "parameter"}}),
        Look(7, {16: {"noted_category": "input"}, 64: {"noted_category": "input"}}),
        Look(8, {16: {"noted_category": "optimizer"}}),
    ]
    purposes.write({"segments": [{"blocks": blocks}], "device_traces": [trace]})
    assert (first["noted_category"], first["layer"]) == ("gradient", "h.0")
    assert second["noted_category"] == "input", "an earlier look knows more than a later one"
    assert "noted_category" not in third and fourth["noted_category"] == "workspace"
    assert [block.get("noted_category") for block in blocks] == ["input", None, "parameter"]


def test_a_workspace_is_freed_before_the_next_request_or_stays() -> None:
    at_once, tensor, other, held = (event("alloc", *at) for at in ((96, 1), (96, 4), (16, 5), (96, 8)))
    trace = [at_once, event("free_completed", 96, 3), tensor, other, event("free_completed", 96, 7), held]
    purposes = Purposes()
    purposes._looks = [Look(9, {96: {"noted_category": "gradient"}})]
    purposes.write({"segments": [], "device_traces": [trace]})
    assert [e.get("noted_category") for e in (at_once, tensor, held)] == ["workspace", None, "gradient"]


def test_what_keeps_memory_is_noted_beside_what_it_is() -> None:
    listed, carried, fresh, cycled = (
        event("alloc", 16, 1),
        event("alloc", 32, 2),
        event("alloc", 48, 6),
        event("alloc", 64, 7),
    )
    trace = [listed, carried, fresh, cycled, event("free_completed", 64, 11), event("free_completed", 48, 13)]
    purposes = Purposes()
    purposes._looks = [
        Look(5, {16: {"noted_category": "activation", "role": "x"}}, {16: "history[…]"}, {32: "state with its graph"}),
        Look(9, {}, {}, {32: "state with its graph", 48: "state with its graph"}),
    ]
    purposes.write({"segments": [], "device_traces": [trace]}, [(10, 12)])
    assert listed["role"] == "x, kept by history[…]"
    assert carried["role"] == "kept by state with its graph"
    assert "role" not in fresh, "a graph that is no older than the last look may be of this step"
    assert cycled["role"] == "kept by a reference cycle"


def test_a_graph_says_what_it_has_from_outside() -> None:
    weight, data = torch.randn(3, 3, requires_grad=True), torch.randn(2, 3)
    assert used_by((data @ weight).sum()) == {weight.data_ptr(): "parameter", data.data_ptr(): "input"}


def test_a_look_before_a_backward_pass_says_nothing_of_what_is_kept() -> None:
    made = event("alloc", 16, 3)
    purposes = Purposes()
    purposes._looks = [Look(1, {}, {}, {}), Look(4, {16: {"role": "x"}}), Look(9, {}, {}, {16: "loss with its graph"})]
    purposes.write({"segments": [], "device_traces": [[made]]})
    assert made["role"] == "x", "it is of the step that the backward pass is of"
