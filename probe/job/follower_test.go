package job

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/trace"
)

// quick is how often tests ask.
const quick = 10 * time.Millisecond

// listening returns a made rank of a job of three at a socket.
func listening(t testing.TB, path string, number int, p *probetest.Program) *probe.Probe {
	t.Helper()
	l, err := probe.Listen(t.Context(), probe.Options{
		Path: path, Control: p, Rank: &trace.Rank{Job: "job", Rank: number, World: 3},
		Gauge: func() []trace.Gauge { return []trace.Gauge{{Total: 1 << 20, Others: 1 << 10}} },
	}, p)
	fatal.If(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// member asks the program at a socket once.
func member(t testing.TB, path string) Member {
	t.Helper()
	teller, err := attach.Here.Teller(t.Context(), path)
	fatal.If(t, err)
	defer teller.Close()
	info, err := teller.Info(t.Context())
	fatal.If(t, err)
	return Member{attach.Here, attach.Process{Socket: path, Info: info}}
}

// until waits for rows of which one is as it should be.
func until(t *testing.T, f *Follower, what string, at int, good func(r *ranks.Row) bool) {
	t.Helper()
	probetest.Eventually(t, what, func() bool { return good(&f.Rows()[at]) })
}

func TestAllRanksAreFollowedAndOneThatEndsComesBack(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "probes")
	var members []Member
	var programs []*probetest.Program
	var probes []*probe.Probe
	for i, name := range []string{"a", "b", "c"} {
		p := probetest.New()
		programs, probes = append(programs, p), append(probes, listening(t, filepath.Join(folder, name), i, p))
		p.Run(4)
		members = append(members, member(t, filepath.Join(folder, name)))
	}
	f := Follow(members, Options{Interval: quick})
	defer f.Close()
	for i, r := range f.Rows() {
		if r.Rank.Rank != i || r.Job != "job" || r.Allocated != 4*probetest.Block || r.Capacity != 1<<20 || r.Others != 1<<10 || r.Problem != "" {
			t.Fatalf("at first row %d is %+v", i, r)
		}
	}
	programs[1].Run(3)
	programs[1].Finish(probes[1])
	<-f.Changed()
	until(t, f, "what rank 1 allocated since", 1, func(r *ranks.Row) bool {
		return r.Allocated == 7*probetest.Block && r.Step == 1 && r.StepDuration == int64(time.Millisecond) && r.Settings["amp"] == "off"
	})
	fatal.If(t, probes[2].Close())
	until(t, f, "the end of rank 2", 2, func(r *ranks.Row) bool {
		return strings.HasPrefix(r.Problem, "ended") && r.Allocated == 4*probetest.Block
	})
	if r := f.Rows()[0]; r.Problem != "" {
		t.Errorf("rank 0 has the problem %q of another", r.Problem)
	}
	programs[2].Run(2)
	listening(t, filepath.Join(folder, "c"), 2, programs[2])
	until(t, f, "the return of rank 2", 2, func(r *ranks.Row) bool { return r.Problem == "" && r.Allocated == 6*probetest.Block })
}

func TestARankThatDoesNotAnswerIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "probes", "a")
	listening(t, path, 0, probetest.New())
	r := newRank(member(t, path))
	r.latest(r.answered, quick)
	if row, fresh := r.latest(r.answered.Add(time.Second), quick); fresh || row.Problem != "" {
		t.Errorf("after a second: %q, %t", row.Problem, fresh)
	}
	if row, fresh := r.latest(r.answered.Add(12*time.Second), quick); !fresh || row.Problem != "lost 12 s" {
		t.Errorf("after twelve: %q, %t", row.Problem, fresh)
	}
	if _, fresh := r.latest(r.answered.Add(12*time.Second), quick); fresh {
		t.Error("the same is news twice")
	}
}

func TestGrowthIsTheMedianOverStepsThatWereSeen(t *testing.T) {
	tests := map[string]struct {
		of   func(step int64) int64
		want int64
	}{
		"steady":                        {func(int64) int64 { return 1000 }, 0},
		"a leak":                        {func(step int64) int64 { return 1000 + 16*step }, 16},
		"the first step makes the rest": {func(step int64) int64 { return 1000 * min(step, 1) }, 0},
		"more is held from a step on":   {func(step int64) int64 { return 1000 + 5000*min(step/20, 1) }, 0},
		"… from an early step on":       {func(step int64) int64 { return 1000 + 5000*min(step/9, 1) }, 0},
		"it shrinks":                    {func(step int64) int64 { return 1<<20 - 16*step }, -16},
		"a leak beside single outliers": {func(step int64) int64 { return 16*step + 5000*(step%9/8) }, 16},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var p past
			for step := range int64(40) {
				p.ended(step, test.of(step))
				p.ended(step, test.of(step))
			}
			if got := p.growth(); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
			if p.ended(1, 5); p.growth() != 0 {
				t.Error("the growth of an earlier run is taken for that of its restart")
			}
		})
	}
}

func TestRecentLooksThatWereHandedOutDoNotChange(t *testing.T) {
	var p past
	var first []int64
	for i := range int64(1000) {
		at := time.Unix(i, 0)
		got := p.look(i, at)
		p.look(0, at.Add(lookFor/2))
		if len(got) > looksKept || got[len(got)-1] != i {
			t.Fatalf("after %d looks there are %d, the last %d", i, len(got), got[len(got)-1])
		}
		if i == 70 {
			first = got
		}
	}
	if first[0] != 7 || first[63] != 70 {
		t.Errorf("those of look 70 are %v", first)
	}
}

// TestDevicesOfOtherMachinesAreLookedAtThere has a machine whose driver does not answer:
// it holds up no other.
func TestDevicesOfOtherMachinesAreLookedAtThere(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "probes")
	var members []Member
	for i, host := range []string{"", "gpu1", "gpu2"} {
		path := filepath.Join(folder, "of"+host)
		listening(t, path, i, probetest.New())
		m := member(t, path)
		m.Process.Host = host
		members = append(members, m)
	}
	silent := make(chan struct{})
	defer close(silent)
	f := Follow(members, Options{Interval: quick, Gauge: func(p attach.Process, devices []int) ([]trace.Gauge, error) {
		if p.Host == "gpu1" {
			<-silent
		}
		return []trace.Gauge{{Device: devices[0], Total: int64(len(p.Host)) + 7}}, nil
	}})
	defer f.Close()
	for _, at := range []int{0, 2} {
		r, want := f.ranks[at], int64(len(members[at].Process.Host))+7
		probetest.Eventually(t, "its device", func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return len(r.seen) == 1 && r.seen[0].Total == want
		})
	}
}
