package train

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestStepsAndChangesAreEvents(t *testing.T) {
	b := newBench(t, 64<<20, tiny())
	b.device.Memory().SetHistory(1 << 16)
	trainer := b.trainer(t, DefaultSettings(), nil)
	steps(t, trainer, 2)
	set(t, trainer, "checkpoint=block")
	set(t, trainer, "optimizer=lion")
	set(t, trainer, "action=empty-cache")
	steps(t, trainer, 1)
	var got []string
	snapshot := b.device.Memory().Snapshot()
	events := snapshot.Devices[0].Events
	for i := range events.Len() {
		switch e := events.At(i); e.Kind {
		case trace.StepBegin, trace.StepEnd, trace.SettingChanged:
			got = append(got, fmt.Sprint(e.Kind, " ", e.Size, " ", text(snapshot, e)))
		default:
		}
	}
	want := []string{
		"step_begin 1 ", "step_end 1 ", "step_begin 2 ", "step_end 2 ",
		"step_begin 3 ",
		"setting_changed 3 checkpoint=block", "setting_changed 3 optimizer=lion", "setting_changed 3 lr=0.0001", "setting_changed 3 action=empty-cache",
		"step_end 3 ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if problems := tracetest.Check(snapshot); problems.Count > 0 {
		t.Errorf("%d problems: %v", problems.Count, problems.First)
	}
}

// TestSettingsMayBeChangedFromAnywhere is for the race detector, too.
func TestSettingsMayBeChangedFromAnywhere(t *testing.T) {
	trainer := rehearsing(t, tiny())
	done := make(chan struct{}) // closed by this test when the steps are taken
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			s := trainer.Settings()
			s.Checkpoint = nn.Every(1 + i%4)
			if err := trainer.Set(s); err != nil {
				t.Error(err)
			}
			if _, err := trainer.Predict(t.Context(), values("amp=bf16")); err != nil {
				t.Error(err)
			}
			trainer.Options()
			m, sum := ReadMemory(trainer.config.Device.Memory()), int64(0)
			for _, source := range m.Sources() {
				sum += source.Bytes
			}
			if sum != m.Reserved {
				t.Errorf("in the middle of a step the sources add up to %d bytes, %d are reserved", sum, m.Reserved)
			}
		}
	})
	for range 10 {
		e := steps(t, trainer, 1)[0]
		trainer.Report(&e)
	}
	close(done)
	wait.Wait()
}
