"""One connection: its requests, one after the other, and the answers sent to it.

A peer must send its request and read the answer without long pauses. The next piece of a
long answer is made only when the peer has taken the previous ones, so a slow peer makes
the agent keep only a bounded part of it.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Iterator

from .answer import Answer, Later, Piece, chunk_of, refusal_answer
from .descriptors import Socket
from .output import AHEAD, Output
from .place import Peer, peer_of
from .request import BODY_MAX, HEADER_MAX, Reader, Refusal, Request
from .routes import Routes
from .threads import start

_PATIENCE = 5.0  # seconds: the longest pause in a request, and in reading an answer
_TURN_AWAY_WITHIN = 1.0  # the same, for a connection that is one too many
_IDLE = 30.0  # between requests
_LINGER = 0.5  # for a peer to read the last answer before the connection is closed
_TURNS = 16  # how often one connection makes and sends before the others get their turn


class Connection:
    """Owned by the server's thread."""

    def __init__(
        self, accepted: Socket, routes: Routes, call: Callable[[Callable[[], None]], None], refusal: str
    ) -> None:
        """Take a connection. With a `refusal`, every request on it is refused with that text."""
        self.socket = accepted
        self.refusal = refusal
        self.closed = False
        self._routes = routes
        self._call = call
        self._peer: Peer | None = None
        self._reader = Reader()
        self._out = Output(accepted)
        self._request: Request | None = None  # the one being answered
        self._answer: Answer | None = None
        self._body: Iterator[Piece] | None = None
        self._resume = 0.0  # when the body goes on, in time.monotonic
        self._stays = True  # the connection stays open for another request
        self._lingers = False  # the answer is sent, and the connection waits for the peer to read it
        self._heard = True  # the peer may send more
        self._deadline: float | None = time.monotonic() + (_TURN_AWAY_WITHIN if refusal else _PATIENCE)

    @property
    def may_ask(self) -> bool:
        """Whether the peer may send a request that can be answered at once."""
        return self._heard and not self.answering and not self._lingers and not self.closed

    @property
    def answering(self) -> bool:
        """Whether an answer is being made or sent."""
        return self._request is not None or self._answer is not None

    @property
    def wants(self) -> int:
        """The events of poll(2) that it waits for."""
        return (select.POLLIN if self._heard else 0) | (select.POLLOUT if self._out.blocked else 0)

    def due(self) -> float | None:
        """Return when the connection has to act, even if the peer sends nothing."""
        goes_on = self._resume if self._body is not None and not self._out.blocked else None
        return min((t for t in (goes_on, self._deadline) if t is not None), default=None)

    def read(self) -> None:
        """Read what the peer has sent."""
        try:
            data = self.socket.own.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            self.close()
            return
        if not data:
            self._hung_up()
        elif not self._lingers:
            if not self._reader.begun and not self.answering and not self.refusal:
                self._deadline = time.monotonic() + _PATIENCE
            self._reader.data += data
            if len(self._reader.data) > 2 * (HEADER_MAX + BODY_MAX):
                self.close()

    def go_on(self, now: float) -> None:
        """Do what can be done now."""
        try:
            self._turn(now)
            if not self.closed and self._deadline is not None and now >= self._deadline:
                self._expired()
                self._turn(now)
        except Exception:  # the peer has gone, or a session failed
            self.close()

    def close(self) -> None:
        """End the connection. The server closes its socket."""
        self.closed = True
        if self._answer is not None:
            self._answer.done()
            self._answer = None

    def hurry(self) -> None:
        """Make a stream look for news now."""
        self._resume = 0.0

    def _turn(self, now: float) -> None:
        for _ in range(_TURNS):
            if self.closed or not (self._send(now) if self.answering else self._next(now)):
                return

    def _hung_up(self) -> None:
        """Note that the peer will send no more. It may still read an answer, but not an endless stream."""
        self._heard = self._stays = False
        if self._body is not None or not self.answering:
            self.close()

    def _expired(self) -> None:
        self._deadline = None
        if self._reader.begun and not self.answering and not self._lingers:
            self._begin(refusal_answer(Refusal(408, "the request did not arrive in time")), stays=False)
        else:
            self.close()

    def _next(self, now: float) -> bool:
        """Begin to answer the next request, if all of it has come."""
        if self._lingers:
            return False
        try:
            request = self._reader.next()
            if request is None:
                if self._reader.wants_more:
                    self._out.add(b"HTTP/1.1 100 Continue\r\n\r\n")
                    self._out.send()
                return False
            self._request, self._deadline = request, None
            answer = self._routes.answer(request, self._admit())
        except Refusal as refusal:
            known = self._request is not None and refusal.status < 500 and refusal.status != 403
            self._begin(refusal_answer(refusal), stays=known)
        except Exception as fault:
            self._begin(refusal_answer(_fault(fault)), stays=False)
        else:
            if isinstance(answer, Later):
                self._later(answer)
                return False
            self._begin(answer)
        return True

    def _admit(self) -> Peer:
        """Refuse a connection that is one too many, and peers of other users. The folder's mode keeps those out
        anyway."""
        if self.refusal:
            raise Refusal(503, self.refusal)
        if self._peer is None:
            try:
                self._peer = peer_of(self.socket.own)
            except OSError as error:
                raise Refusal(403, f"the system does not say which process is asking: {error}") from None
        self._routes.admit(self._peer)
        return self._peer

    def _later(self, later: Later) -> None:
        """Make an answer on a thread of its own."""

        def work() -> None:
            try:
                answer = later.answer()
            except Refusal as refusal:
                answer = refusal_answer(refusal)
            except Exception as error:
                answer = refusal_answer(_fault(error))
            self._call(lambda: self._made(later, answer))

        try:
            start(work)
        except RuntimeError:  # no thread can be started, or the interpreter is ending
            self._made(later, refusal_answer(Refusal(503, "the program is ending")))

    def _made(self, later: Later, answer: Answer) -> None:
        later.done()
        self._begin(answer)

    def _begin(self, answer: Answer, stays: bool = True) -> None:
        if self.closed:
            answer.done()
            return
        request = self._request
        self._stays = self._stays and stays and request is not None and request.stays
        self._answer = answer
        self._resume = 0.0
        self._out.add(answer.head(request, self._stays))
        if request is not None and request.method == "HEAD":
            return
        if isinstance(answer.body, bytes):
            self._out.add(answer.body)
        else:
            self._body = answer.body

    def _send(self, now: float) -> bool:
        """Make more of the answer and send it. Report whether it can go on at once."""
        if self._body is not None and now >= self._resume and not self._out.waiting:
            self._make()
        progress = self._out.send()
        if self._out.blocked:
            self._deadline = now + _PATIENCE if progress or self._deadline is None else self._deadline
            return False
        self._deadline = None
        if self._body is not None:
            return now >= self._resume
        if self._answer is None:
            return False  # another thread is still making the answer
        self._finish(now)
        return True

    def _make(self) -> None:
        """Take pieces of the body, as many as are sent at one time."""
        assert self._body is not None and self._request is not None
        began = time.thread_time_ns()
        pieces: list[bytes] = []
        size, ended = 0, False
        while size < AHEAD and not ended:
            piece = next(self._body, None)
            if isinstance(piece, float):
                self._resume = piece
                break
            ended = piece is None
            if piece:
                pieces.append(piece)
                size += len(piece)
        for data in chunk_of(self._request, pieces, ended):
            self._out.add(data)
        if ended:
            self._body = None
            self._stays = self._stays and self._request.minor >= 1
        self._routes.meter.viewers_ns += time.thread_time_ns() - began

    def _finish(self, now: float) -> None:
        """Finish an answer that was sent."""
        assert self._answer is not None
        self._answer.done()
        self._answer = self._request = None
        if self._stays:
            self._deadline = now + (_PATIENCE if self._reader.begun else _IDLE)
        elif self._heard:
            # Closing a socket with unread data would show the peer an error instead of the answer.
            self.socket.own.shutdown(socket.SHUT_WR)
            self._lingers, self._deadline = True, now + _LINGER
        else:
            self.close()


def _fault(error: Exception) -> Refusal:
    return Refusal(500, f"the program's agent failed: {error!r}")
