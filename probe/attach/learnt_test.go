package attach

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestTheNextClientKnowsWhatThisOneTold has two clients tell, of which one is read-only.
func TestTheNextClientKnowsWhatThisOneTold(t *testing.T) {
	p := probetest.New()
	path := listening(t, p, probe.Options{Control: p}).Path()
	leaks := []trace.Learnt{{Site: "cache[…], train.py:9", Verdict: "suspected leak", Bytes: 5, StepsObserved: 20, Step: 300}}
	must(t, dialling(t, path, DialOptions{ReadOnly: true}).Tell(t.Context(), leaks))
	c := dialling(t, path, DialOptions{})
	if got := c.Trace().Live.Learnt; len(got) > 0 {
		t.Errorf("a read-only client told %+v", got)
	}
	must(t, c.Tell(t.Context(), leaks))
	if got := dialling(t, path, DialOptions{}).Trace().Live.Learnt; !slices.Equal(got, leaks) {
		t.Errorf("got %+v, want %+v", got, leaks)
	}
}
