"""Settings that viewers change."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from conftest import Serving, eventually

from memtop import changes
from memtop.journal import CHANGE, OPTIONS
from memtop.lease import Lease
from memtop.request import Refusal


def set_(
    serving: Serving, value: str, query: str = "", key: str = "amp", viewer: str = "me", **more: Any
) -> tuple[int, Any]:
    body = json.dumps({"set": {key: value}, **more})
    return serving.peer().ask("/v1/settings" + query, "POST", body, Memtop_Viewer=viewer)


def state(serving: Serving) -> list[tuple[str, str, int | None]]:
    """Return the value, the state and the step of all changes."""
    _, settings = serving.peer().ask("/v1/settings")
    return [(c["to"], c["state"], c.get("step")) for c in settings["changes"]]


def test_a_change_is_applied_at_the_first_step_that_shows_it(serving: Serving) -> None:
    serving.program.run(3)
    status, answer = set_(serving, "bf16")
    [change] = answer["changes"]
    assert status == 200 and answer["holder"] == "me" and answer["options"][0]["value"] == "bf16"
    assert (change["from"], change["to"], change["state"], change["id"]) == ("off", "bf16", "pending", 1)
    assert change["predicted"]["peak_allocated_bytes"] == -1000
    serving.program.run(3)
    assert state(serving) == [("bf16", "applied", 4)]


def test_a_change_begins_with_the_step_that_was_named(serving: Serving) -> None:
    serving.program.run(3)
    assert set_(serving, "bf16", at=9)[1]["changes"][0]["state"] == "pending"
    serving.program.run(5)
    assert state(serving) == [("bf16", "pending", None)]  # five steps without it are no refusal
    serving.program.run(2)
    assert state(serving) == [("bf16", "applied", 9)]


def test_a_change_of_a_step_that_has_begun_is_refused(serving: Serving) -> None:
    serving.program.run(3)
    [change] = set_(serving, "bf16", at=3)[1]["changes"]
    assert (change["state"], change["reason"]) == ("refused", "step 3 has begun already")
    assert serving.program.amp == "off"


def test_a_change_is_withdrawn_by_another_before_its_step(serving: Serving) -> None:
    set_(serving, "bf16", at=4)
    set_(serving, "off")
    serving.program.run(5)
    assert state(serving) == [("bf16", "refused", None), ("off", "applied", 1)]
    assert serving.program.amp == "off"


@pytest.mark.parametrize("at", [-1, 1.5, "4", True, None])
def test_a_step_is_a_number(serving: Serving, at: Any) -> None:
    assert set_(serving, "bf16", at=at)[0] == 400


def test_a_request_can_wait_for_the_step(serving: Serving) -> None:
    got: list[Any] = []
    waiting = threading.Thread(target=lambda: got.append(set_(serving, "bf16", "?wait=1m")))
    waiting.start()
    eventually("the change to be made", lambda: serving.program.amp == "bf16")
    assert not got
    serving.program.run()
    waiting.join()
    assert got[0][1]["changes"][0]["state"] == "applied"


def test_a_change_that_waits_has_the_program_watched(serving: Serving) -> None:
    set_(serving, "bf16")
    eventually("the program to watch", lambda: serving.program.viewers == [1])
    serving.program.run()
    eventually("the program to watch no more", lambda: serving.program.viewers == [1, 0])


def test_a_change_that_no_step_ever_shows_does_not_have_it_watched_for_ever(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memtop.viewers._CHANGE", 0.3)
    set_(serving, "bf16")
    eventually("the program to watch no more", lambda: serving.program.viewers == [1, 0])
    assert state(serving) == [("bf16", "pending", None)]


@pytest.mark.parametrize(
    "key, value, reason",
    [("amp", "fp8", "amp takes off, bf16"), ("nothing", "1", 'there is no setting "nothing"')],
)
def test_what_cannot_be_set_is_refused(serving: Serving, key: str, value: str, reason: str) -> None:
    _, answer = set_(serving, value, key=key)
    assert [(c["state"], c["reason"]) for c in answer["changes"]] == [("refused", reason)]
    assert serving.program.amp == "off"


def test_a_program_may_refuse(serving: Serving) -> None:
    serving.program.refuses = True
    _, answer = set_(serving, "bf16")
    assert answer["changes"][0]["reason"] == "the program does not want to"
    serving.program.refuses = False
    set_(serving, "bf16")
    serving.server.refuse("the model was compiled", "amp")
    _, settings = serving.peer().ask("/v1/settings")
    assert [c["reason"] for c in settings["changes"]] == ["the program does not want to", "the model was compiled"]


def test_a_change_that_the_program_forgets_is_refused(serving: Serving) -> None:
    set_(serving, "bf16")
    serving.program.amp = "off"
    serving.program.run(3)
    assert state(serving) == [("bf16", "pending", None)]
    serving.program.run()
    assert state(serving) == [("bf16", "refused", None)]


def test_a_value_that_the_program_spells_otherwise(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving.program, "change", lambda key, value, at: setattr(serving.program, "amp", "bfloat16"))
    set_(serving, "bf16")
    serving.program.run()
    assert state(serving) == [("bfloat16", "applied", 1)]


def test_streams_have_options_and_changes_as_they_move_on(serving: Serving) -> None:
    set_(serving, "bf16")
    stream = serving.peer().stream()
    first = stream.batch()
    assert [frame.data[0]["value"] for frame in first if frame.type == OPTIONS] == ["bf16"]
    assert [frame.data["state"] for frame in first if frame.type == CHANGE] == ["pending"]
    serving.program.run()
    assert stream.until(CHANGE).data["state"] == "applied"


def test_one_viewer_at_a_time(serving: Serving) -> None:
    set_(serving, "bf16", viewer="one")
    status, answer = set_(serving, "off", viewer="other")
    assert status == 409 and answer["holder"] == "one" and "viewer one is changing settings" in answer["error"]
    assert serving.peer().ask("/v1/info")[1]["changing"] == "one"


def test_a_prediction_changes_nothing(serving: Serving) -> None:
    status, answer = serving.peer().ask("/v1/prediction?key=amp&value=bf16")
    assert status == 200 and answer["predicted"]["activation_bytes"] == -1000 and serving.program.amp == "off"


def test_a_read_only_program_changes_nothing(serving: Serving) -> None:
    serving.program.read_only = True
    assert set_(serving, "bf16")[0] == 403 and serving.program.amp == "off"
    assert serving.peer().ask("/v1/prediction?key=amp&value=bf16")[0] == 403
    assert "control" not in serving.peer().ask("/v1/info")[1]["capabilities"]
    status, settings = serving.peer().ask("/v1/settings")
    assert status == 200 and settings["read_only"] and settings["changes"] == []


def test_changes_are_bounded(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_WAITING", 2)
    monkeypatch.setattr(changes, "_KEPT", 4)
    for _ in range(3):
        set_(serving, "bf16")
    assert [c[1] for c in state(serving)] == ["pending", "pending", "refused"]
    for _ in range(3):
        set_(serving, "bf16")
    assert [c[1] for c in state(serving)] == ["pending", "pending", "refused", "refused"]


def test_the_lease_ends_with_the_last_stream_or_by_itself() -> None:
    now = 0.0
    lease = Lease(lambda: now)
    lease.take("one")
    with pytest.raises(Refusal):
        lease.take("other")
    now = 1.9
    assert lease.held() == "one"
    now = 2.0
    assert lease.held() == ""
    lease.open("other")
    lease.open("other")
    lease.take("other")
    now = 15.0
    lease.close("other")
    assert lease.held() == "other"
    lease.close("other")
    assert lease.held() == ""
    lease.take("one")
