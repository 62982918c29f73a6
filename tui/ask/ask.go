// Package ask runs a page's computations away from the screen, one at a time
// for each place that shows an answer, and keeps only the newest question.
package ask

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

// One asks one kind of question. While it computes an answer, a newer question
// waits and replaces any earlier waiting one; One cancels the context of the
// running computation.
//
// The goroutine that updates the screen owns it. The function runs in a command,
// so it must use only values that never change, or that change only behind its
// gate.
type One[Q comparable, A any] struct {
	gate     *Gate
	run      func(context.Context, Q) A
	wanted   Q
	hasWant  bool
	answered Q
	answer   A
	has      bool
	running  Q
	busy     bool
	round    int // grows with each Forget
	cancel   context.CancelFunc
}

// New returns a One that answers with run, behind the gate of run's data. The
// gate is nil if the data never changes. A run that sees its context cancelled
// may return anything: its answer is dropped.
func New[Q comparable, A any](gate *Gate, run func(context.Context, Q) A) *One[Q, A] {
	o := &One[Q, A]{gate: gate, run: run}
	if gate != nil {
		gate.asked = append(gate.asked, o)
	}
	return o
}

// Ask asks q. It returns a command when a computation starts, and nil when q is
// already answered, being computed, or waiting. It may be called often.
func (o *One[Q, A]) Ask(q Q) tea.Cmd {
	o.wanted, o.hasWant = q, true
	switch {
	case o.busy && o.running == q:
		return nil
	case o.busy:
		o.cancel()
		return nil
	case o.has && o.answered == q:
		return nil
	}
	return o.start(q)
}

func (o *One[Q, A]) start(q Q) tea.Cmd {
	ctx, cancel := context.WithCancel(context.Background())
	o.running, o.busy, o.cancel = q, true, cancel
	gate, run, round := o.gate, o.run, o.round
	gate.count(1)
	return func() tea.Msg {
		var a A
		gate.Read(func() { a = run(ctx, q) })
		dropped := ctx.Err() != nil
		cancel()
		return reply[Q, A]{o, q, a, dropped, round}
	}
}

// Answer returns the newest answer, to any question, and whether there is one. A
// page shows it until the next answer arrives.
func (o *One[Q, A]) Answer() (A, bool) { return o.answer, o.has }

// Answered returns the question that Answer answers.
func (o *One[Q, A]) Answered() Q { return o.answered }

// Fresh reports whether the answer is to the newest question.
func (o *One[Q, A]) Fresh() bool { return o.has && o.hasWant && o.answered == o.wanted }

// Busy reports whether a computation is running.
func (o *One[Q, A]) Busy() bool { return o.busy }

// Stop cancels the running computation and drops the waiting question.
func (o *One[Q, A]) Stop() {
	o.hasWant = false
	if o.busy {
		o.cancel()
	}
}

// forget is part of [Gate.Forget].
func (o *One[Q, A]) forget() {
	o.Stop()
	*o = One[Q, A]{gate: o.gate, run: o.run, busy: o.busy, cancel: o.cancel, round: o.round + 1}
}

// Reply is a message that carries an answer back.
type Reply interface {
	// Deliver gives the answer to the One that asked. It must be called on the
	// goroutine that updates the screen.
	Deliver()
}

type reply[Q comparable, A any] struct {
	to      *One[Q, A]
	q       Q
	a       A
	dropped bool
	round   int
}

// Deliver stores the answer unless the computation was cancelled.
func (r reply[Q, A]) Deliver() {
	o := r.to
	o.busy = false
	o.gate.count(-1)
	if r.dropped || r.round != o.round {
		return
	}
	o.answered, o.answer, o.has = r.q, r.a, true
}
