package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// post asks for a change and returns the status and what is said of it.
func (c *client) post(t testing.TB, key, value string) (int, trace.Change) {
	t.Helper()
	status, text := c.ask(t, http.MethodPost, "/v1/settings", set(key, value))
	var s protocol.Settings
	if err := json.Unmarshal([]byte(text), &s); err != nil || status == http.StatusOK && len(s.Changes) != 1 {
		t.Fatalf("answer %d: %s", status, text)
	}
	if status != http.StatusOK {
		return status, trace.Change{}
	}
	return status, s.Changes[0]
}

func (p *Probe) change(id int64) trace.Change {
	p.changes.view()
	p.changes.mu.Lock()
	defer p.changes.mu.Unlock()
	return p.changes.entry(id)
}

func TestAChangeIsAppliedAtTheFirstStepThatShowsIt(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{Control: p})
	c := newClient(t, probe, "screen")
	s := c.stream(t, "?interval=50ms")
	for range 3 {
		p.Finish(probe)
	}
	status, change := c.post(t, "checkpoint", "block")
	if status != http.StatusOK || change.State != trace.Pending || change.From != "none" || change.To != "block" || change.ID != 1 {
		t.Fatalf("status %d, change %+v", status, change)
	}
	s.until(t, "the change to be pending", func(f *wire.Frame) bool { return f.Change != nil && f.Change.State == trace.Pending })
	if got := probe.change(1).State; got != trace.Pending {
		t.Errorf("before a step it is %v", got)
	}
	p.Finish(probe)
	p.Finish(probe)
	if got := probe.change(1); got.State != trace.Applied || got.Step != 4 {
		t.Errorf("after two steps: %+v, want applied at step 4", got)
	}
	f := s.until(t, "the change to be applied", func(f *wire.Frame) bool { return f.Change != nil && f.Change.State != trace.Pending })
	if f.Change.Step != 4 {
		t.Errorf("the stream says %+v", f.Change)
	}
}

func TestAStepThatEndedWhileTheProgramWasToldCounts(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{Control: &steppingControl{Program: p}})
	probe.changes.control.(*steppingControl).probe = probe
	_, change := newClient(t, probe, "").post(t, "checkpoint", "block")
	if change.State != trace.Applied || change.Step != 2 {
		t.Errorf("got %+v, want applied at step 2", change)
	}
}

// steppingControl is a program whose steps are quicker than its answers.
type steppingControl struct {
	*probetest.Program
	probe *Probe
}

func (c *steppingControl) Set(key, value string) error {
	c.Finish(c.probe)
	err := c.Program.Set(key, value)
	c.Finish(c.probe)
	c.Finish(c.probe)
	return err
}

func TestAChangeThatTheProgramDropsIsRefused(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{Control: p})
	newClient(t, probe, "").post(t, "amp", "bf16")
	p.Values["amp"] = "off"
	for range stepsWithout {
		p.Finish(probe)
	}
	if got := probe.change(1); got.State != trace.Pending {
		t.Errorf("after %d steps: %+v", stepsWithout, got)
	}
	p.Finish(probe)
	if got := probe.change(1); got.State != trace.Refused || got.Reason != dropped {
		t.Errorf("after one more: %+v", got)
	}
}

// TestTheStepOfAChangeIsTheFirstThatUsedIt changes a setting again and again
// while steps, which read it when they begin, end as quickly as they can.
func TestTheStepOfAChangeIsTheFirstThatUsedIt(t *testing.T) {
	t.Parallel()
	p := probetest.New()
	probe := listening(t, p, Options{Control: p})
	used := []string{""} // by step
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for number := int64(1); ; number++ {
			select {
			case <-stop:
				return
			default:
			}
			value := p.Options()[0].Value
			used = append(used, value)
			p.Run(10)
			probe.Step(trace.Step{Number: number, Settings: []trace.Value{{Key: "checkpoint", Value: value}}})
		}
	}()
	for i := range 200 {
		change, err := probe.changes.set(t.Context(), "checkpoint", []string{"block", "none"}[i%2], 0)
		fatal.If(t, err)
		probe.changes.wait(t.Context(), []int64{change.ID}, time.Minute)
	}
	close(stop)
	<-stopped
	list, _ := probe.changes.view()
	for _, c := range list {
		if c.State != trace.Applied || used[c.Step] != c.To || used[c.Step-1] == c.To {
			t.Fatalf("%+v, but that step used %q and the one before %q", c, used[c.Step], used[c.Step-1])
		}
	}
}

func TestWhatBecomesOfAChange(t *testing.T) {
	tests := map[string]struct {
		key, value string
		refusal    error
		want       trace.ChangeState
		reason     string
	}{
		"a choice":                       {"amp", "bf16", nil, trace.Pending, ""},
		"another value where it is free": {"checkpoint", "every=2", nil, trace.Pending, ""},
		"another value where it is not":  {"amp", "fp64", nil, trace.Refused, "amp takes off, bf16"},
		"a setting that is not there":    {"colour", "red", nil, trace.Refused, `there is no setting "colour"`},
		"one that the program refuses":   {"amp", "bf16", errNo, trace.Refused, errNo.Error()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := probetest.New()
			p.Refusal = test.refusal
			probe := listening(t, p, Options{Control: p})
			_, got := newClient(t, probe, "").post(t, test.key, test.value)
			if got.State != test.want || got.Reason != test.reason {
				t.Errorf("got %v because %q, want %v because %q", got.State, got.Reason, test.want, test.reason)
			}
		})
	}
}

func TestAChangeThatWasReplacedBeforeAStepIsRefused(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{Control: p})
	c := newClient(t, probe, "")
	c.post(t, "checkpoint", "block")
	c.post(t, "amp", "bf16")
	c.post(t, "checkpoint", "every=2")
	p.Finish(probe)
	var got []string
	for id := range int64(3) {
		e := probe.change(id + 1)
		got = append(got, fmt.Sprint(e.State, e.Step, " ", e.Reason))
	}
	want := []string{"refused 0 change 3 came before a step used it", "applied 1 ", "applied 1 "}
	equal.Values(t, "changes", want, got)
}

func TestAChangeThatTheProgramTookBackIsRefused(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{Control: p})
	c := newClient(t, probe, "")
	c.post(t, "checkpoint", "block")
	c.post(t, "amp", "bf16")
	probe.Refuse("out of memory", "checkpoint", "depth")
	p.Finish(probe)
	var got []string
	for id := range int64(2) {
		e := probe.change(id + 1)
		got = append(got, fmt.Sprint(e.State, " ", e.Reason))
	}
	equal.Values(t, "a step showed both after all", []string{"applied ", "applied "}, got)
	c.post(t, "amp", "off")
	probe.Refuse("out of memory", "amp")
	if e := probe.change(3); e.State != trace.Refused || e.Reason != "out of memory" {
		t.Errorf("got %s because %q", e.State, e.Reason)
	}
}

func TestAChangeUndoneAfterItsStepBeganWasApplied(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{Control: p})
	c := newClient(t, probe, "")
	c.post(t, "checkpoint", "block")
	running := trace.Step{Number: 7, Settings: []trace.Value{{Key: "checkpoint", Value: "block"}}}
	c.post(t, "checkpoint", "none") // while step 7 runs
	probe.Step(running)
	if got := probe.change(1); got.State != trace.Applied || got.Step != 7 {
		t.Errorf("the change: %+v", got)
	}
	if got := probe.change(2); got.State != trace.Pending {
		t.Errorf("its undoing: %+v", got)
	}
	p.Finish(probe)
	if got := probe.change(2); got.State != trace.Applied {
		t.Errorf("its undoing after a step: %+v", got)
	}
}

func TestTheProgramsSpellingOfAValueIsAwaited(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{Control: p})
	_, change := newClient(t, probe, "").post(t, "checkpoint", " block ")
	p.Finish(probe)
	if got := probe.change(change.ID); got.State != trace.Applied || got.To != "block" {
		t.Errorf("got %+v", got)
	}
}

// TestAnActionKeepsItsNameWhenItIsOver has a program that is back where it was when it
// is asked how it calls what it was told.
func TestAnActionKeepsItsNameWhenItIsOver(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{Control: acting{p}})
	_, change := newClient(t, probe, "").post(t, "action", "empty-cache")
	if change.State != trace.Pending || change.From != "none" || change.To != "empty-cache" {
		t.Errorf("got %+v", change)
	}
	probe.Step(trace.Step{Number: 1, Settings: []trace.Value{{Key: "action", Value: "empty-cache"}}})
	if got := probe.change(change.ID); got.State != trace.Applied || got.To != "empty-cache" {
		t.Errorf("after its step: got %+v", got)
	}
}

// acting is a program that does something once.
type acting struct{ *probetest.Program }

func (acting) Options() []trace.Option {
	return []trace.Option{{Key: "action", Value: "none", Choices: []string{"empty-cache"}}}
}

func (acting) Set(string, string) error { return nil }

func TestPredictionsAreMadeBeforeTheChangeAndDoNotHoldUpTheProgram(t *testing.T) {
	p := probetest.New()
	asked, answer := make(chan string, 1), make(chan struct{})
	p.Prediction = func(context.Context, []trace.Value) (*trace.Prediction, error) {
		asked <- p.Options()[0].Value
		<-answer
		return &trace.Prediction{PeakAllocated: -100, Activation: -80}, nil
	}
	probe := listening(t, p, Options{Control: p})
	c := newClient(t, probe, "")
	done := make(chan trace.Change)
	go func() {
		_, change := c.post(t, "checkpoint", "block")
		done <- change
	}()
	if was := <-asked; was != "none" {
		t.Errorf("the setting was %q when its prediction was asked for, want none", was)
	}
	p.Run(1000) // the program goes on
	p.Finish(probe)
	if got := probe.change(1); got.State != trace.Pending {
		t.Errorf("while it is predicted: %+v", got)
	}
	close(answer)
	if got := <-done; got.Predicted == nil || got.Predicted.PeakAllocated != -100 || got.State != trace.Pending {
		t.Errorf("got %+v", got)
	}
}

func TestARequestMayWaitForTheStep(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{Control: p})
	c := newClient(t, probe, "")
	answer := make(chan string)
	go func() {
		_, text := c.ask(t, http.MethodPost, "/v1/settings?wait=1m", set("amp", "bf16"))
		answer <- text
	}()
	probetest.Eventually(t, "the change to be made", func() bool { return len(probe.changes.awaiting()) == 1 })
	p.Finish(probe)
	if text := <-answer; !strings.Contains(text, `"applied","step":1`) {
		t.Errorf("got %s", text)
	}
}

func TestReadOnlyMeansNobodyChangesAnything(t *testing.T) {
	const inEnvironment = "a program whose environment says it"
	tests := map[string]Options{
		inEnvironment:                {Control: probetest.New()},
		"a program without settings": {},
		"a probe that is read-only":  {ReadOnly: true, Control: probetest.New()},
	}
	for name, o := range tests {
		t.Run(name, func(t *testing.T) {
			if name == inEnvironment {
				t.Setenv(protocol.ReadOnlyVariable, "1")
			}
			probe := listening(t, probetest.New(), o)
			c := newClient(t, probe, "")
			if status, text := c.ask(t, http.MethodPost, "/v1/settings", set("amp", "bf16")); status != http.StatusForbidden {
				t.Errorf("got %d: %s", status, text)
			}
			if p, ok := o.Control.(*probetest.Program); ok && p.Values["amp"] != "off" {
				t.Error("the setting was changed")
			}
			_, text := c.ask(t, http.MethodGet, "/v1/info", "")
			if !strings.Contains(text, `"read_only":true`) || strings.Contains(text, protocol.CapabilityControl) {
				t.Errorf("info: %s", text)
			}
			if !c.stream(t, "").next(t, wire.HelloFrame).Hello.ReadOnly {
				t.Error("the stream does not say so")
			}
		})
	}
}

func TestChangesAreBounded(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{Control: p})
	for i := range changesWaiting + 1 {
		change, err := probe.changes.set(t.Context(), "checkpoint", fmt.Sprint("every=", i), 0)
		fatal.If(t, err)
		if want := i >= changesWaiting; (change.State == trace.Refused) != want {
			t.Errorf("change %d: %+v", i, change)
		}
	}
	for range 2 * changesKept {
		if _, err := probe.changes.set(t.Context(), "colour", "red", 0); err != nil {
			t.Fatal(err)
		}
	}
	if list, _ := probe.changes.view(); len(list) != changesKept {
		t.Errorf("%d changes are kept, want %d", len(list), changesKept)
	}
}

func TestTheLease(t *testing.T) {
	now := time.Unix(0, 0)
	l := newLease()
	l.now = func() time.Time { return now }
	take := func(viewer, holder string) {
		t.Helper()
		err := l.take(viewer)
		var held *protocol.HeldError
		if errors.As(err, &held); held != nil && held.Holder != holder || (held == nil) != (holder == "") {
			t.Errorf("%s asks: %v, want it held by %q", viewer, err, holder)
		}
	}
	take("script", "")
	take("script", "")
	take("screen", "script")
	now = now.Add(leaseAlone - 1)
	take("screen", "script")
	now = now.Add(1)
	take("screen", "") // a script has no claim two seconds after its last change

	l.open("screen")
	l.open("screen")
	now = now.Add(time.Minute - 1)
	take("script", "screen") // one that watches has it for longer
	l.close("screen")
	take("script", "screen") // with one of two streams left too
	l.close("screen")
	take("script", "") // at once when it has gone

	l.open("screen")
	now = now.Add(leaseAlone)
	take("screen", "")
	now = now.Add(time.Minute)
	if held := l.held(); held != "" {
		t.Errorf("%q holds it after a minute without a change", held)
	}
	take("script", "")
	l.close("screen")
	if held := l.held(); held != "script" {
		t.Errorf("%q holds it, want the script, who took it over", held)
	}
}

func TestTheSecondWriterIsToldWhoTheFirstIs(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{Control: p})
	first := newClient(t, probe, "first")
	s := first.stream(t, "")
	s.next(t, wire.CountersFrame)
	first.post(t, "amp", "bf16")
	second := newClient(t, probe, "second")
	status, text := second.ask(t, http.MethodPost, "/v1/settings", set("amp", "off"))
	if status != http.StatusConflict || !strings.Contains(text, `"holder":"first"`) {
		t.Errorf("got %d: %s", status, text)
	}
	s.close()
	probetest.Eventually(t, "the second to get the lease", func() bool {
		status, _ := second.ask(t, http.MethodPost, "/v1/settings", set("amp", "off"))
		return status == http.StatusOK
	})
}

func TestAPredictionChangesNothing(t *testing.T) {
	p := probetest.New()
	want := trace.Prediction{PeakAllocated: -5, Activation: -3}
	var asked []trace.Value
	p.Prediction = func(_ context.Context, changes []trace.Value) (*trace.Prediction, error) {
		asked = changes
		return &want, nil
	}
	probe := listening(t, p, Options{Control: p})
	c := newClient(t, probe, "screen")
	for name, test := range map[string]struct {
		query  string
		status int
		text   string
	}{
		"a change that can be made":    {"?key=amp&value=bf16", http.StatusOK, `"peak_allocated_bytes":-5`},
		"several":                      {"?set=amp%3Dbf16&set=checkpoint%3Devery%3D2", http.StatusOK, `"peak_allocated_bytes":-5`},
		"several, one of no value":     {"?set=amp%3Dbf16&set=amp%3Dodd", http.StatusBadRequest, "amp takes off, bf16"},
		"several without a value":      {"?set=amp", http.StatusBadRequest, "amp takes off, bf16"},
		"more than a request may have": {"?set=amp%3Dbf16" + strings.Repeat("&set=amp%3Doff", maxSettings), http.StatusBadRequest, "16 settings"},
		"a value that is none":         {"?key=amp&value=odd", http.StatusBadRequest, "amp takes off, bf16"},
		"a setting that there is none": {"?key=speed&value=1", http.StatusBadRequest, `there is no setting`},
		"no question":                  {"", http.StatusBadRequest, "there is no setting"},
	} {
		t.Run(name, func(t *testing.T) {
			status, text := c.ask(t, http.MethodGet, "/v1/prediction"+test.query, "")
			if status != test.status || !strings.Contains(text, test.text) {
				t.Errorf("answer %d: %s; want %d and %s", status, text, test.status, test.text)
			}
		})
	}
	if _, text := c.ask(t, http.MethodGet, "/v1/prediction?set=amp%3Dbf16&set=checkpoint%3Devery%3D2", ""); len(asked) != 2 ||
		asked[0] != (trace.Value{Key: "amp", Value: "bf16"}) || asked[1] != (trace.Value{Key: "checkpoint", Value: "every=2"}) {
		t.Errorf("the program was asked about %v: %s", asked, text)
	}
	if list, _ := probe.changes.view(); len(list) > 0 || p.Values["amp"] != "off" {
		t.Errorf("there are changes %+v and amp is %s", list, p.Values["amp"])
	}
	only := newClient(t, listening(t, probetest.New(), Options{Control: p, ReadOnly: true}), "screen")
	if status, text := only.ask(t, http.MethodGet, "/v1/prediction?key=amp&value=bf16", ""); status != http.StatusForbidden {
		t.Errorf("a read-only probe answers %d: %s", status, text)
	}
}
