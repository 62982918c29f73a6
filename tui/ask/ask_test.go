package ask

import (
	"context"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func square(_ context.Context, n int) int { return n * n }

// deliver runs a command and takes its answer home.
func deliver(t *testing.T, cmd tea.Cmd) {
	t.Helper()
	if cmd == nil {
		t.Fatal("no command")
	}
	cmd().(Reply).Deliver()
}

func TestAnAnswerIsComputedOnce(t *testing.T) {
	o := New(nil, square)
	deliver(t, o.Ask(7))
	if got, ok := o.Answer(); !ok || got != 49 || !o.Fresh() {
		t.Errorf("answer %d, %v, fresh %v", got, ok, o.Fresh())
	}
	if o.Ask(7) != nil {
		t.Error("an answered question was computed again")
	}
}

func TestOnlyOneComputationRunsAndTheNewestQuestionWins(t *testing.T) {
	o := New(nil, square)
	first := o.Ask(1)
	for n := 2; n <= 9; n++ {
		if o.Ask(n) != nil {
			t.Fatalf("question %d started while another was running", n)
		}
	}
	deliver(t, first)
	if _, ok := o.Answer(); ok {
		t.Error("the answer to a cancelled question was kept")
	}
	deliver(t, o.Ask(9))
	if got, _ := o.Answer(); got != 81 || o.Answered() != 9 {
		t.Errorf("answer %d to %d", got, o.Answered())
	}
}

func TestTheLastAnswerStaysUntilTheNextIsThere(t *testing.T) {
	o := New(nil, square)
	deliver(t, o.Ask(2))
	next := o.Ask(3)
	if got, ok := o.Answer(); !ok || got != 4 || o.Fresh() {
		t.Errorf("while computing: answer %d, %v, fresh %v", got, ok, o.Fresh())
	}
	deliver(t, next)
	if got, _ := o.Answer(); got != 9 {
		t.Errorf("answer %d, want 9", got)
	}
}

func TestAStoppedComputationIsToldAndForgotten(t *testing.T) {
	var told error
	o := New(nil, func(ctx context.Context, n int) int {
		told = ctx.Err()
		return n
	})
	cmd := o.Ask(5)
	o.Stop()
	deliver(t, cmd)
	if told == nil {
		t.Error("the computation was not told")
	}
	if _, ok := o.Answer(); ok || o.Busy() {
		t.Error("the answer was kept")
	}
	deliver(t, o.Ask(5))
	if got, _ := o.Answer(); got != 5 {
		t.Errorf("asked again: %d", got)
	}
}

func TestAskingBackForTheRunningQuestionKeepsIt(t *testing.T) {
	o := New(nil, square)
	cmd := o.Ask(1)
	o.Ask(2)
	o.Ask(1)
	deliver(t, cmd)
	if again := o.Ask(1); again != nil {
		deliver(t, again) // it had been cancelled: computing it anew is right
	}
	if got, ok := o.Answer(); !ok || got != 1 {
		t.Errorf("answer %d, %v", got, ok)
	}
}

func TestNothingChangesWhileAQuestionIsAnswered(t *testing.T) {
	var gate Gate
	asked := false
	o := New(&gate, func(_ context.Context, n int) int {
		asked = true
		if gate.Change(func() { t.Error("it changed under a question") }) {
			t.Error("the gate says that it changed")
		}
		return n
	})
	deliver(t, o.Ask(1))
	changed := false
	if !gate.Change(func() { changed = true }) || !changed || !asked {
		t.Errorf("afterwards: changed %v, asked %v", changed, asked)
	}
	if gate.Spent() <= 0 || gate.Spent() != 0 {
		t.Error("the time of the question is not told once")
	}
}

func TestWithoutAGateNothingIsGuarded(t *testing.T) {
	var gate *Gate
	read, changed := false, false
	gate.Read(func() { read = gate.Change(func() { changed = true }) })
	if !read || !changed {
		t.Errorf("read %v, changed %v", read, changed)
	}
}
