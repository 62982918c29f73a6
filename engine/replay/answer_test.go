package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
)

func ask(t *testing.T, q whatif.Question) *whatif.Answer {
	t.Helper()
	if q.Device == nil {
		q.Device = &q.Trace.Devices[0]
	}
	a, err := Answer(t.Context(), q)
	fatal.If(t, err)
	return a
}

// levels adds up the reserved bytes of what an allocator records.
type levels struct {
	inner trace.Recorder
	level int64
	after []int64 // by event
}

func (l *levels) Record(device int, e trace.Event) {
	l.inner.Record(device, e)
	l.level += e.ReservedDelta()
	l.after = append(l.after, l.level)
}

// TestSharedFilesReproduceTheirReservedCurve holds the replay of every shared file
// under its own settings against the file's curve, which is added up here.
func TestSharedFilesReproduceTheirReservedCurve(t *testing.T) {
	reasons := map[string]string{
		"blocks_only":     "no history",
		"private_pools":   "no history",
		"legacy_history":  "one event",
		"one_entry_trace": "one event",
		"trimmed_by_hand": "contradicts itself in 24 places",
	}
	forEachShared(t, func(t *testing.T, name string, tr *trace.Trace, d *trace.Device) {
		t.Helper()
		prefix, _, _ := strings.Cut(name, ".")
		got := ask(t, whatif.Question{Trace: tr, Device: d}).Recorded.WhyNot
		if want := reasons[prefix]; !strings.Contains(got, want) || want == "" && got != "" {
			t.Fatalf("why not: %q, want %q", got, want)
		}
		if got != "" {
			return
		}
		base := startOf(tr, d)
		r, err := newRecording(tr, d, whatif.SettingsOf(tr, d), alloc.Rules{}, &base.state, nil)
		fatal.If(t, err)
		watched := &levels{inner: r, level: base.state.Reserved()}
		r.a.Observe(watched)
		fatal.If(t, r.run(t.Context()))
		want, level := make([]int64, 0, d.Events.Len()), base.state.Reserved()
		for i := range d.Events.Len() {
			switch e := d.Events.At(i); e.Kind {
			case trace.SegmentAlloc, trace.SegmentMap:
				level += e.Size
			case trace.SegmentFree, trace.SegmentUnmap:
				level -= e.Size
			default:
			}
			want = append(want, level)
		}
		if diff := cmp.Diff(want, watched.after); diff != "" {
			t.Errorf("the reserved bytes after each event (-recorded +replayed):\n%.2000s", diff)
		}
		t.Logf("%d events, the reserved bytes are equal after each", len(want))
	})
}

// TestRunsUnderTheRecordedSettingsAreTheRecording makes what the program did again:
// from an empty start its peaks are the recorded ones, whatever the settings.
func TestRunsUnderTheRecordedSettingsAreTheRecording(t *testing.T) {
	for name, config := range map[string]string{
		"the defaults":            "",
		"expandable segments":     "expandable_segments:True",
		"divided powers of two":   "roundup_power2_divisions:[1:2,2:4,4:8,>:1]",
		"one number of divisions": "roundup_power2_divisions:4",
		"oversize blocks":         "max_split_size_mb:21",
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				r := newRandom(t, seed, plenty, alloc.Options{Config: config, History: 1 << 20})
				tr := r.trace(3000)
				a := ask(t, whatif.Question{Trace: tr, Settings: []string{config}})
				stats := r.a.Stats()
				want := whatif.Run{
					Settings: config, PeakReserved: stats.ReservedBytes.All.Peak, PeakAllocated: stats.AllocatedBytes.All.Peak, OOMEvent: -1,
				}
				equal.Values(t, fmt.Sprintf("seed %d", seed), []whatif.Run{want}, a.Runs)
				if rec := a.Recorded; rec.WhyNot != "" || rec.PeakReserved != want.PeakReserved || rec.PeakAllocated != want.PeakAllocated {
					t.Errorf("seed %d: recorded %+v", seed, rec)
				}
			}
		})
	}
}

// pinned is a program that runs out of 64 MiB: two requests of 9 MiB share a segment
// of 20 MiB, and one of each of two segments is freed.
func pinned(t *testing.T, o alloc.Options) *trace.Trace {
	t.Helper()
	a, err := alloc.New(newCounted(64*mib), o)
	fatal.If(t, err)
	var held []alloc.Allocation
	for range 6 {
		b, err := a.Alloc(9*mib, 0, alloc.Tag{})
		fatal.If(t, err)
		held = append(held, b)
	}
	a.Free(held[1])
	a.Free(held[2])
	if _, err := a.Alloc(18*mib, 0, alloc.Tag{}); !errors.Is(err, alloc.ErrNoMemory) {
		t.Fatalf("the request succeeds: %v", err)
	}
	return a.Snapshot()
}

func TestOtherSettingsMeetARequestThatFailed(t *testing.T) {
	for name, history := range map[string]int{"recorded from the begin": 1000, "recorded from the middle": 5} {
		t.Run(name, func(t *testing.T) {
			tr := pinned(t, alloc.Options{History: history})
			a := ask(t, whatif.Question{Trace: tr, Settings: []string{"max_split_size_mb:40", "expandable_segments:True"}})
			event := tr.Devices[0].Events.Len() - 1
			want := &whatif.OOM{Event: event, Size: 18 * mib, Segment: 18 * mib, Reserved: 60 * mib, Capacity: 64 * mib}
			if diff := cmp.Diff(want, a.Recorded.OOM); diff != "" || want.Short() != 14*mib {
				t.Errorf("short by %d, the request (-want +got):\n%s", want.Short(), diff)
			}
			if a.Recorded.WhyNot != "" || a.Again.Fits || a.Again.OOMEvent != event || a.Runs[0].Fits {
				t.Errorf("%+v, again %+v, under other settings %+v", a.Recorded, a.Again, a.Runs[0])
			}
			changes := []whatif.Change{{Settings: "expandable_segments:True", Saving: 18 * mib, Certain: true}}
			equal.Values(t, "what would have fit", changes, a.Changes())
		})
	}
}

func TestTheDeviceMayHaveAnotherSize(t *testing.T) {
	tr := pinned(t, alloc.Options{History: 1000})
	for memory, want := range map[int64]whatif.Run{
		80 * mib: {PeakReserved: 78 * mib, PeakAllocated: 54 * mib, Fits: true, Reserved: 78 * mib, OOMEvent: -1},
		50 * mib: {PeakReserved: 40 * mib, PeakAllocated: 36 * mib, OOM: true, OOMEvent: 7, Ends: true},
	} {
		a := ask(t, whatif.Question{Trace: tr, Settings: []string{""}, Memory: memory})
		equal.Values(t, fmt.Sprintf("with %d bytes", memory), want, a.Runs[0])
	}
}

func TestWrongSettingsAreRefused(t *testing.T) {
	tr := pinned(t, alloc.Options{History: 1000})
	for settings, want := range map[string]string{
		"expandable_segments:yes":         `expected True or False, found "yes"`,
		"expandable:True":                 `unknown setting "expandable"`,
		"per_process_memory_fraction:0.5": "the file does not say",
	} {
		_, err := Answer(t.Context(), whatif.Question{Trace: tr, Device: &tr.Devices[0], Settings: []string{settings}})
		var wrong *whatif.SettingsError
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Error(), want) || strings.Contains(wrong.Error(), "\n") {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

func TestGarbageIsCollectedUnderAFractionOnly(t *testing.T) {
	rec, err := alloc.New(newCounted(plenty), alloc.Options{History: 1000})
	fatal.If(t, err)
	for size := range int64(10) { // each is larger than those that are cached
		b, err := rec.Alloc((100+10*size)*mib, 0, alloc.Tag{})
		fatal.If(t, err)
		rec.Free(b)
	}
	tr := rec.Snapshot()
	const threshold = "garbage_collection_threshold:0.1"
	a := ask(t, whatif.Question{
		Trace: tr, Settings: []string{"", threshold, threshold + ",per_process_memory_fraction:1.0"}, Memory: 2 << 30,
	})
	if a.Runs[1].PeakReserved != a.Runs[0].PeakReserved || !strings.Contains(a.Runs[1].Note, "does nothing") {
		t.Errorf("without a fraction: %+v, under the defaults %+v", a.Runs[1], a.Runs[0])
	}
	if a.Runs[2].PeakReserved >= a.Runs[0].PeakReserved || a.Runs[2].Note != "" {
		t.Errorf("with a fraction: %+v, under the defaults %+v", a.Runs[2], a.Runs[0])
	}
}

// TestSuggestedSettingsAreTheReleases asks for the usual settings on recordings of
// releases that do not have all of them.
func TestSuggestedSettingsAreTheReleases(t *testing.T) {
	const fraction = "per_process_memory_fraction"
	for writer, want := range map[string]bool{"PyTorch 2.1": false, "PyTorch 2.3–2.4": false, "PyTorch 2.9": false, "PyTorch 2.10–2.11": true, "": true} {
		tr := pinned(t, alloc.Options{History: 1000})
		tr.Info.Writer = writer
		a := ask(t, whatif.Question{Trace: tr, Memory: 24 << 30})
		got := slices.ContainsFunc(a.Runs, func(r whatif.Run) bool { return strings.Contains(r.Settings, fraction) })
		if len(a.Runs) < 5 || got != want {
			t.Errorf("%s: a fraction is suggested: %v, want %v; of %d runs", writer, got, want, len(a.Runs))
		}
	}
}

func TestAReplayEndsWhenItIsCalledOff(t *testing.T) {
	r := newRandom(t, 3, plenty, alloc.Options{History: 1 << 20})
	tr := r.trace(100)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Answer(ctx, whatif.Question{Trace: tr, Device: &tr.Devices[0]}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestARecordedFractionIsNoObstacle tries other settings on a program that had a
// memory fraction, of which the recording does not say how many bytes it is.
func TestARecordedFractionIsNoObstacle(t *testing.T) {
	tr := pinned(t, alloc.Options{History: 1000, Config: "per_process_memory_fraction:1.0"})
	a := ask(t, whatif.Question{Trace: tr})
	if a.Recorded.WhyNot != "" || len(a.Runs) < 5 || a.Runs[1].Settings != "per_process_memory_fraction:1.0,expandable_segments:True" || !a.Runs[1].Fits {
		t.Errorf("recorded %+v, under other settings %+v", a.Recorded, a.Runs)
	}
}

// TestTheRequestMayBeChosen has two requests fail: one for want of a piece that is
// large enough, and one that is larger than the device.
func TestTheRequestMayBeChosen(t *testing.T) {
	tr := pinned(t, alloc.Options{History: 1000})
	first := tr.Devices[0].Events.Len() - 1
	var log trace.EventLog
	for i := range tr.Devices[0].Events.Len() {
		log.Append(*tr.Devices[0].Events.At(i))
	}
	e := *tr.Devices[0].Events.At(first)
	e.Size, e.Addr = 100*mib, 4*mib
	last := log.Append(e)
	tr.Devices[0].Events = log.Events()
	for event, want := range map[int][]whatif.Change{
		first: {
			{Settings: "expandable_segments:True", Saving: 18 * mib, Certain: true},
			{Settings: "roundup_power2_divisions:4", Saving: 18 * mib, Certain: true}, // 10 MiB has a segment of its own
			{Settings: "expandable_segments:True,roundup_power2_divisions:8", Saving: 18 * mib, Certain: true},
		},
		last: nil, // and so is any event where no request failed
		0:    nil,
	} {
		a := ask(t, whatif.Question{Trace: tr, Event: event})
		if diff := cmp.Diff(want, a.Changes()); diff != "" || a.Recorded.OOM.Event != max(event, first) && event != 0 {
			t.Errorf("event %d, answered about %d (-want +got):\n%s", event, a.Recorded.OOM.Event, diff)
		}
	}
}

// TestOnlyAnExactAnswerIsRun has a recording that goes on otherwise than ours would.
func TestOnlyAnExactAnswerIsRun(t *testing.T) {
	s := newScript(t, plenty, alloc.Options{History: 100})
	s.alloc(30 * mib)
	for name, test := range map[string]struct {
		by  uint64
		ran bool
	}{"exact": {0, true}, "not exact": {512, false}} {
		tr := changed(s.a.Snapshot(), func(_ int, e *trace.Event) {
			if e.Kind == trace.Alloc {
				e.Addr += test.by
			}
		})
		a := ask(t, whatif.Question{Trace: tr, Settings: []string{""}, Exact: true})
		if (len(a.Runs) == 1 && a.Again != nil) != test.ran || (a.Recorded.WhyNot == "") != test.ran {
			t.Errorf("%s: %+v", name, a)
		}
	}
}
