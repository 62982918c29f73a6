package pytorch

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestReplayingBesideReadingChangesNothing replays real files a few events at a time while
// they are read, and all at once afterwards.
func TestReplayingBesideReadingChangesNothing(t *testing.T) {
	for _, path := range pytorchtest.SharedPickles(t) {
		if !strings.HasPrefix(filepath.Base(path), "training") {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			pickle, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			m := smallBlocks(t.Context(), bytes.NewReader(pickle), Options{Total: int64(len(pickle))}, 1)
			defer m.release()
			m.replay = newReplayer(100)
			tr, err := m.decode()
			if err != nil {
				t.Fatal(err)
			}
			if m.replay.told < 100 {
				t.Errorf("it was told of %d events only", m.replay.told)
			}
			for i := range tr.Devices {
				compareReplayed(t, &tr.Devices[i])
			}
		})
	}
}

func compareReplayed(t *testing.T, d *trace.Device) {
	t.Helper()
	if d.Events.Len() == 0 {
		return
	}
	want, got := trace.NewLifetimes(), d.Replay.Take(d.Events)
	if got.Events().Len() == 0 {
		t.Fatal("nothing was replayed")
	}
	for _, l := range []*trace.Lifetimes{want, got} {
		l.Advance(d.Events)
		l.Finish(&d.Final)
	}
	if !reflect.DeepEqual(got, want) {
		t.Error("what was held, asked for, replaced or marked differs")
	}
	for i := range d.Events.Len() {
		if d.Events.At(i).Kind == trace.Alloc && got.Closed(i) != want.Closed(i) {
			t.Fatalf("the allocation of event %d ends at %d, want %d", i, got.Closed(i), want.Closed(i))
		}
	}
}

// TestAReplayersPanicIsTheMachines has the replayer fail at an event that is not there.
func TestAReplayersPanicIsTheMachines(t *testing.T) {
	r := newReplayer(1)
	r.life = nil
	var log trace.EventLog
	log.Append(trace.Event{})
	r.tell(&log)
	m := &machine{replay: r}
	defer func() {
		if recover() == nil {
			t.Error("it was lost")
		}
	}()
	m.replayed(nil)
}
