package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestLayersFoldAndUnfold(t *testing.T) {
	d, p := startLive(t, 120, 40, 20)
	d.press("2")
	d.wants("▾ h.1", "· mlp")
	d.press("down", "e")
	d.wants("▸ h.0")
	d.train(p, 1)
	d.wants("▸ h.0", "Layers of step 21")
	d.press("left", "left")
	d.wants("▸ model")
	d.lacks("h.1")
	d.press("right", "down", "enter")
	d.wants("▾ h.0", "▾ h.1")
	d.press("m")
	d.wants("h.0.mlp  MLP", "keeps 2.7 MiB for the backward pass")
}

func TestLayersAreSorted(t *testing.T) {
	d, p := startLive(t, 120, 40, 20)
	d.press("2", ">")
	d.wants("class▼")
	for range 20 {
		if strings.Contains(plain(d.screen()), "forward▼") {
			break
		}
		d.press(">")
	}
	d.wants("forward▼")
	d.press("I")
	d.wants("forward▲", "inverted")
	d.train(p, 1)
	d.wants("forward▲")
	d.press("esc")
	d.lacks("forward▲")
}

func TestLayersAreFilteredAndSearched(t *testing.T) {
	d, _ := startLive(t, 120, 40, 20)
	d.press("2", "\\")
	d.typed("h.2")
	d.press("enter")
	d.wants("Layers of step 20 matching “h.2”", "h.2", "mlp")
	d.lacks("h.1")
	d.press("esc")
	d.wants("h.1")
	d.press("/")
	d.typed("h.3.mlp")
	d.press("enter", "y")
	if !strings.HasPrefix(d.copied, "h.3.mlp, class MLP") {
		t.Errorf("copied %q", d.copied)
	}
	d.press("/")
	d.typed("conv")
	d.press("enter")
	d.wants("no layer matches conv")
}

// TestLayersSayWhereTheyCompute shows a step with a layer on the host, and one without.
func TestLayersSayWhereTheyCompute(t *testing.T) {
	recorded := *tuitest.NewProcess(20).Trace()
	recorded.Steps = slices.Clone(recorded.Steps)
	last := &recorded.Steps[len(recorded.Steps)-1]
	last.Layers = slices.Clone(last.Layers)
	last.Layers[1].OnHost = true
	d := start(t, 80, 24, Options{Color: "never", Device: -1}, fileOf("run.mtr", &recorded))
	d.press("2", "down")
	d.wants(" on ", " host ", "computed by the host")
	d.press("down")
	d.lacks("computed by the host")
	d.press("4")
	for range 40 {
		d.press("left")
	}
	d.press("2")
	d.lacks(" host ")
}

func TestASeldomScreenSaysHowOften(t *testing.T) {
	d, _ := startLiveWith(t, 80, 24, 3, Options{Color: "never", Device: -1, Interval: 2500 * time.Millisecond})
	d.wants("live, every 2.5 s")
}

func TestCheckpointingIsChangedForTheSelectedLayer(t *testing.T) {
	p := tuitest.NewProcess(20)
	d := start(t, 120, 40, Options{Color: "never", Device: -1, Own: true}, processFile(p))
	d.press("2")
	d.press("/")
	d.typed("h.1")
	d.press("enter", "C")
	wantsAsked(t, p, "checkpoint=layers=h.1")
	d.press("/")
	d.typed("h.3.mlp")
	d.press("enter", "C")
	wantsAsked(t, p, "checkpoint=layers=h.1", "checkpoint=layers=h.1+h.3.mlp")
	d.press("1", "C")
	wantsAsked(t, p, "checkpoint=layers=h.1", "checkpoint=layers=h.1+h.3.mlp", "checkpoint=none")
}

func TestLayersThatWereTimedOnTheProcessorSaySo(t *testing.T) {
	recording := tuitest.Recording()
	last := &recording.Steps[len(recording.Steps)-1]
	d := start(t, 120, 40, Options{Color: "never", Device: -1}, fileOf("run.mtr", recording))
	d.press("2")
	d.wants("times")
	d.lacks("of the processor")
	last.Settings = append(last.Settings, trace.Value{Key: "layer_times", Value: "processor"})
	d = start(t, 120, 40, Options{Color: "never", Device: -1}, fileOf("run.mtr", recording))
	d.press("2")
	d.wants(", of the processor, not the device")
}
