package alloc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// follow watches an allocator as a viewer does: what it records goes through
// the wire to a stream.
type follow struct {
	t       *testing.T
	a       *Allocator
	events  []trace.Event // recorded and not yet sent
	first   int64         // number of the first of them
	bytes   bytes.Buffer
	encoder *wire.Encoder
	stream  *wire.Stream
}

func (f *follow) Record(_ int, e trace.Event) { f.events = append(f.events, e) }

// newFollow watches an allocator from now on.
func newFollow(t *testing.T, a *Allocator) *follow {
	t.Helper()
	return newFollowOf(t, a, 0)
}

// newFollowOf is newFollow of a viewer that keeps so many events.
func newFollowOf(t *testing.T, a *Allocator, kept int) *follow {
	t.Helper()
	f := &follow{t: t, a: a}
	f.encoder = wire.NewEncoder(&f.bytes)
	f.stream = wire.NewStream(&f.bytes, wire.StreamOptions{Memory: wire.MemoryOf(kept)})
	a.Observe(f)
	f.encoder.Hello(&wire.Hello{Settings: a.Settings()})
	f.base(0, "")
	return f
}

// base sends the state as it is now; the events so far are not sent.
func (f *follow) base(missed int64, reason string) {
	f.t.Helper()
	f.first += int64(len(f.events))
	f.events = f.events[:0]
	state := f.a.State(nil)
	tables := f.a.names.Tables()
	f.encoder.Tables(&tables)
	f.encoder.Base(0, f.first, &state, missed, reason)
	f.read()
}

// send sends the events so far.
func (f *follow) send() {
	f.t.Helper()
	tables := f.a.names.Tables()
	f.encoder.Tables(&tables)
	f.encoder.Events(0, f.first, f.events)
	f.first += int64(len(f.events))
	f.events = f.events[:0]
	f.read()
}

func (f *follow) read() {
	f.t.Helper()
	fatal.If(f.t, f.encoder.Flush())
	for {
		if _, err := f.stream.Advance(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			f.t.Fatal(err)
		}
	}
}

// compare holds the follower's final state against the allocator's own.
func (f *follow) compare() {
	f.t.Helper()
	f.send()
	tables := f.a.names.Tables()
	want := trace.Trace{Tables: &tables, Devices: []trace.Device{{Final: f.a.State(nil)}}}
	tables = f.a.names.Tables()
	got := f.stream.Trace()
	only := trace.Trace{Tables: got.Tables, Devices: []trace.Device{{}}}
	if len(got.Devices) > 0 {
		only.Devices[0].Final = got.Devices[0].Final
	}
	if diff := cmp.Diff(tracetest.Text(f.t, &want), tracetest.Text(f.t, &only)); diff != "" {
		f.t.Fatalf("after %d events (-allocator +follower):\n%.3000s", f.first, diff)
	}
	for _, n := range got.Notices {
		f.t.Fatal(n)
	}
}

func TestFollowersKnowTheStateExactly(t *testing.T) {
	for name, config := range configs {
		t.Run(name, func(t *testing.T) {
			ooms := 0
			for _, seed := range []uint64{0, 5} {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					p := newProgram(t, seed, Options{Config: config, Limit: 600 << 20, Stacks: true})
					for range 150 * seed {
						p.step() // before anybody looks
					}
					f := newFollow(t, p.a)
					for i := range 1500 {
						p.step()
						if i%10 == 0 {
							f.compare()
						}
					}
					p.end()
					f.compare()
					ooms += p.ooms
				})
			}
			if ooms == 0 {
				t.Error("no request failed: the programs are too tame")
			}
		})
	}
}

// TestFollowersBridgeGaps loses events at random and sends a new base, as a
// probe does whose viewer fell behind. The trace stays whole.
func TestFollowersBridgeGaps(t *testing.T) {
	configs := map[string]string{
		"the defaults": "", "expandable segments": "expandable_segments:True", "oversize blocks": "max_split_size_mb:21",
	}
	for name, config := range configs {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s %d", name, seed), func(t *testing.T) {
				p := newProgram(t, seed, Options{Config: config, Limit: 600 << 20, Stacks: true})
				f := newFollow(t, p.a)
				lost := 0
				for i := range 1500 {
					p.step()
					switch {
					case i%97 == 96 && p.rnd.IntN(2) == 0:
						lost += len(f.events)
						f.base(-1, "too slow")
						f.compare()
					case i%31 == 0:
						f.compare()
					}
				}
				f.compare()
				checkWhole(t, f.stream.Trace(), lost)
			})
		}
	}
}

// checkWhole replays a trace in every way there is.
func checkWhole(t *testing.T, tr *trace.Trace, lost int) {
	t.Helper()
	for _, p := range tracetest.Check(tr).First {
		t.Error(p)
	}
	d := &tr.Devices[0]
	if base, problems := trace.Rewind(tr, d); problems.Count > 0 || len(base.Segments) != 0 {
		t.Errorf("rewound to %d segments: %v", len(base.Segments), problems.First)
	}
	lifetimes := trace.NewLifetimes()
	lifetimes.Advance(d.Events)
	lifetimes.Finish(&d.Final)
	if lifetimes.Reused() > 0 || len(lifetimes.Held) > 0 {
		t.Errorf("%d addresses reused, %d allocations from before the first event", lifetimes.Reused(), len(lifetimes.Held))
	}
	lifetimes.Alive(d.Events.Len(), func(id trace.AllocationID) bool {
		a := lifetimes.AllocationAt(id, d.Events.Len())
		if got, want := layerOf(tr, a.Note), layerOf(tr, noteOf(d, a.Addr)); got != want {
			t.Errorf("the allocation at %#x is known as %q at the end, and is %q", a.Addr, got, want)
		}
		return true
	})
	missed := int64(0)
	for _, g := range tr.Live.Gaps {
		missed += g.Missed
		if g.From > g.To || g.To > d.Events.Len() || g.Reason != "too slow" {
			t.Errorf("gap %+v of %d events", g, d.Events.Len())
		}
	}
	if lost == 0 || missed != int64(lost) {
		t.Errorf("%d events missed according to the gaps, %d were lost", missed, lost)
	}
}

// TestFollowersKnowTheBaseOfWhatTheyKeep holds the state before the first event
// kept against the one that follows from the final state.
func TestFollowersKnowTheBaseOfWhatTheyKeep(t *testing.T) {
	for seed := range uint64(4) {
		lose := seed%4 != 0
		t.Run(fmt.Sprintf("seed %d, gaps %v", seed, lose), func(t *testing.T) {
			p := newProgram(t, seed, Options{Limit: 600 << 20})
			f := newFollowOf(t, p.a, 1<<15)
			for i := range 45_000 {
				p.step()
				if lose && i%100 == 99 && p.rnd.IntN(2) == 0 {
					f.base(-1, "too slow")
				} else if i%100 == 0 {
					f.send()
				}
			}
			f.compare()
			tr := f.stream.Trace()
			d := &tr.Devices[0]
			if !d.Overflowed || lose != (len(tr.Live.Gaps) > 0) {
				t.Fatalf("%d events are kept, with %d gaps", d.Events.Len(), len(tr.Live.Gaps))
			}
			want, problems := trace.Rewind(tr, d)
			if problems.Count > 0 {
				t.Errorf("rewinding: %v", problems.First[0])
			}
			if diff := cmp.Diff(requests(&want), requests(d.Base)); diff != "" {
				t.Errorf("the base (-rewound +kept):\n%.2000s", diff)
			}
		})
	}
}

// requests returns what is live in a state, and nothing of how large it is.
func requests(s *trace.State) map[uint64]int64 {
	live := make(map[uint64]int64)
	for i := range s.Segments {
		for k := range s.Segments[i].Blocks {
			if b := &s.Segments[i].Blocks[k]; b.State.Live() {
				live[b.Addr] = b.LiveRequested()
			}
		}
	}
	return live
}

func layerOf(tr *trace.Trace, id trace.NoteID) string {
	return tr.Tables.String(tr.Tables.Notes[id].Layer)
}

// noteOf returns the note of the block at an address of the final state.
func noteOf(d *trace.Device, addr uint64) trace.NoteID {
	for _, s := range d.Final.Segments {
		for _, b := range s.Blocks {
			if b.Addr == addr {
				return b.Note
			}
		}
	}
	return 0
}

// TestFollowersSurviveOtherSettings changes settings under the follower, which
// receives them together with a new base.
func TestFollowersSurviveOtherSettings(t *testing.T) {
	for seed := range uint64(6) {
		p := newProgram(t, seed, Options{Limit: 600 << 20})
		f := newFollow(t, p.a)
		for i := range 1200 {
			if i%37 == 0 {
				f.send()
				configure(t, p.a, changing[p.rnd.IntN(len(changing))])
				f.encoder.Settings(p.a.Settings())
				f.base(0, "")
			}
			p.step()
			if i%11 == 0 {
				f.compare()
			}
		}
		if gaps := f.stream.Trace().Live.Gaps; len(gaps) > 0 {
			t.Errorf("nothing was lost, and there are gaps: %+v", gaps)
		}
	}
}
