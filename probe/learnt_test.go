package probe

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// TestTheNextViewerIsToldWhatTheLastOneLearnt tells, tells anew, and what makes no sense.
func TestTheNextViewerIsToldWhatTheLastOneLearnt(t *testing.T) {
	probe := listening(t, probetest.New(), Options{})
	viewer := newClient(t, probe, "viewer")
	tell := func(body string, want int) {
		t.Helper()
		if status, text := viewer.ask(t, http.MethodPost, "/v1/learnt", body); status != want {
			t.Errorf("%.40s: got %d, want %d: %s", body, status, want, text)
		}
	}
	said := func() []trace.Learnt {
		t.Helper()
		s := viewer.stream(t, "")
		defer s.close()
		return s.next(t, wire.HelloFrame).Hello.Learnt
	}
	if got := said(); got != nil {
		t.Errorf("before anything was told: %+v", got)
	}
	leak := trace.Learnt{Site: "cache[…], train.py:9", Verdict: "suspected leak", Bytes: 5, Step: 300}
	text, err := json.Marshal(map[string]any{"leaks": []trace.Learnt{leak}})
	fatal.If(t, err)
	tell(string(text), http.StatusOK)
	tell(`{"leaks": 3}`, http.StatusBadRequest)
	tell(`{}`, http.StatusBadRequest)
	tell(`{"leaks": [`+strings.Repeat("{},", trace.MostLearnt)+`{}]}`, http.StatusBadRequest)
	if got := said(); !slices.Equal(got, []trace.Learnt{leak}) {
		t.Errorf("got %+v", got)
	}
	tell(`{"leaks": []}`, http.StatusOK) // it was given back
	if got := said(); len(got) > 0 {
		t.Errorf("after it was given back: %+v", got)
	}
}
