package job

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// ranksOf returns a follower of made ranks, and what they are.
func ranksOf(t *testing.T, n int) (*Follower, []*probetest.Program, []*probe.Probe) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "probes")
	var members []Member
	var programs []*probetest.Program
	var probes []*probe.Probe
	for i := range n {
		path := filepath.Join(folder, string(rune('a'+i)))
		programs = append(programs, probetest.New())
		probes = append(probes, listening(t, path, i, programs[i]))
		members = append(members, member(t, path))
	}
	f := Follow(members, Options{Interval: time.Minute})
	t.Cleanup(f.Close)
	return f, programs, probes
}

// stepping ends steps of those programs until the test ends.
func stepping(t *testing.T, programs []*probetest.Program, probes []*probe.Probe) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{}) // closed by the goroutine
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			for i := range programs {
				programs[i].Finish(probes[i])
			}
			<-tick.C
		}
	}()
	t.Cleanup(func() { stop(); <-done })
}

// amps returns the precision of each rank's next step, "gone" of one that has ended.
func (f *Follower) amps(t *testing.T) string {
	t.Helper()
	return f.settings(t, func(s *protocol.Settings) string {
		at := slices.IndexFunc(s.Options, func(o trace.Option) bool { return o.Key == "amp" })
		return s.Options[at].Value
	})
}

// states returns the states of each rank's changes.
func (f *Follower) states(t *testing.T) string {
	t.Helper()
	return f.settings(t, func(s *protocol.Settings) string {
		var states []string
		for _, c := range s.Changes {
			states = append(states, c.State.String())
		}
		return strings.Join(states, ",")
	})
}

// settings returns a text about each rank's settings, "gone" of a rank that has ended.
func (f *Follower) settings(t *testing.T, about func(*protocol.Settings) string) string {
	t.Helper()
	texts := make([]string, len(f.ranks))
	f.each(func(i int, r *rank) {
		texts[i] = "gone"
		_ = r.tell(t.Context(), func(ctx context.Context, teller *attach.Teller) error { // it may be gone
			s, err := teller.Settings(ctx)
			if err == nil {
				texts[i] = about(s)
			}
			return err
		})
	})
	return strings.Join(texts, " ")
}

func TestASettingIsChangedInAllRanks(t *testing.T) {
	f, programs, probes := ranksOf(t, 3)
	stepping(t, programs, probes)
	change, err := f.Set(t.Context(), 1, "amp", "bf16")
	if err != nil || change.State != trace.Applied || change.From != "off" || change.To != "bf16" {
		t.Fatalf("the change is %+v, %v", change, err)
	}
	if got := f.amps(t); got != "bf16 bf16 bf16" {
		t.Errorf("the ranks have %s", got)
	}
}

func TestASettingIsChangedInNoRankIfOneRefuses(t *testing.T) {
	no := errors.New("it has no such precision")
	tests := map[string]struct {
		refuse  func(programs []*probetest.Program, probes []*probe.Probe)
		stepped int // so many ranks make steps
		want    string
		values  string
	}{
		"one refuses at once": {func(p []*probetest.Program, _ []*probe.Probe) { p[2].Refusal = no }, 3, "rank 2 refused: it has no such precision", "off off off"},
		"two refuse":          {func(p []*probetest.Program, _ []*probe.Probe) { p[1].Refusal, p[2].Refusal = no, no }, 3, "so did 1 more", "off off off"},
		"one has ended":       {func(_ []*probetest.Program, p []*probe.Probe) { _ = p[2].Close() }, 2, "rank 2", "off off gone"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f, programs, probes := ranksOf(t, 3)
			test.refuse(programs, probes)
			stepping(t, programs[:test.stepped], probes[:test.stepped])
			_, err := f.Set(t.Context(), 0, "amp", "bf16")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q in it", err, test.want)
			}
			if got := f.amps(t); got != test.values {
				t.Errorf("the ranks have %s, want %s", got, test.values)
			}
		})
	}
}

func TestASettingIsChangedInNoRankIfOneMakesNoStepWhileTheOthersDo(t *testing.T) {
	f, programs, probes := ranksOf(t, 3)
	stepping(t, programs[:2], probes[:2])
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1) // one message comes
	go func() {
		_, err := f.Set(ctx, 0, "amp", "bf16")
		done <- err
	}()
	probetest.Eventually(t, "the change", func() bool { return f.states(t) == "applied applied pending" })
	cancel()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "rank 2 has made no step") {
		t.Errorf("the error is %v", err)
	}
	if got := f.amps(t); got != "off off off" {
		t.Errorf("the ranks have %s", got)
	}
}

func TestAChangeThatARankRefusesAtItsStepIsTakenBackInTheOthers(t *testing.T) {
	f, programs, probes := ranksOf(t, 2)
	done := make(chan error, 1) // one message comes
	go func() {
		_, err := f.Set(t.Context(), 0, "amp", "bf16")
		done <- err
	}()
	probetest.Eventually(t, "the change", func() bool { return f.amps(t) == "bf16 bf16" })
	programs[0].Finish(probes[0])
	fatal.If(t, programs[1].Set("amp", "off"))
	probes[1].Refuse("no memory for it", "amp")
	if err := <-done; err == nil || !strings.Contains(err.Error(), "rank 1 refused: no memory for it") {
		t.Errorf("the error is %v", err)
	}
	if got := f.amps(t); got != "off off" {
		t.Errorf("the ranks have %s", got)
	}
}

func TestRanksChangeAtAStepThatNoneHasBegun(t *testing.T) {
	at := func(step int64, duration time.Duration, capabilities ...string) *protocol.Info {
		return &protocol.Info{Step: step, LastStep: &protocol.LastStep{Duration: duration.Nanoseconds()}, Capabilities: capabilities}
	}
	tests := map[string]struct {
		list []*protocol.Info
		want int64
	}{
		"a second ahead of the quickest":       {[]*protocol.Info{at(40, 200*time.Millisecond, "at"), at(41, 100*time.Millisecond, "at")}, 53},
		"long steps":                           {[]*protocol.Info{at(40, time.Minute, "at"), at(40, time.Minute, "at")}, 42},
		"one does not know of such changes":    {[]*protocol.Info{at(40, time.Second, "at"), at(40, time.Second)}, 0},
		"one does not answer":                  {[]*protocol.Info{at(40, time.Second, "at"), nil}, 0},
		"one has made no step":                 {[]*protocol.Info{{Capabilities: []string{"at"}}, at(40, time.Second, "at")}, 0},
		"they began to count at other moments": {[]*protocol.Info{at(40, time.Second, "at"), at(400, time.Second, "at")}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := commonStep(test.list); got != test.want {
				t.Errorf("got step %d, want %d", got, test.want)
			}
		})
	}
}
