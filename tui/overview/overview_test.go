package overview

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// TestThePageIsDrawnBeforeCategoriesAreKnown has the first screen of a large file wait
// for nothing: what memory is for is worked out beside it.
func TestThePageIsDrawnBeforeCategoriesAreKnown(t *testing.T) {
	traced := tuitest.Small()
	s := page.NewScene(screen.NewTheme(false, false), analysis.NewIndex(traced, &traced.Devices[0]))
	p := New(s)
	p.moment = atPeak
	asked := p.Refresh(120, 37)
	drawn := p.View(120, 37)
	if !strings.Contains(drawn, "adding up") || strings.Contains(drawn, "guessed") {
		t.Errorf("before any answer the page is\n%s", drawn)
	}
	deliver(asked)
	if drawn := p.View(120, 37); strings.Contains(drawn, "adding up") || !strings.Contains(drawn, "guessed") {
		t.Errorf("after all answers the page is\n%s", drawn)
	}
}

// deliver runs commands and takes their answers home.
func deliver(cmd tea.Cmd) {
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, one := range msg {
			deliver(one)
		}
	case ask.Reply:
		msg.Deliver()
	}
}

// TestTheHighestPeakIsThatOfTheStepsShown lets steps come and go at both ends, as a
// running program and a cursor have them.
func TestTheHighestPeakIsThatOfTheStepsShown(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	all := make([]trace.Step, 400)
	for i := range all {
		all[i] = trace.Step{Number: int64(i + 1), Time: int64(1000 + 3*i), PeakAllocated: rnd.Int64N(1000)}
	}
	var h highest
	from, to := 0, 0
	for range 2000 {
		switch rnd.IntN(10) {
		case 0: // old ones are let go, while more come
			gone := rnd.IntN(to - from + 1)
			from, to = from+gone, min(len(all), to+rnd.IntN(2*gone+1))
		case 1: // the cursor goes back
			to = from + rnd.IntN(to-from+1)
		default:
			to = min(len(all), to+rnd.IntN(5))
		}
		if from == len(all) {
			from, to = 0, 0 // another process, with steps of the same numbers
			for i := range all {
				all[i].Time, all[i].PeakAllocated = all[i].Time+1, rnd.Int64N(1000)
			}
		}
		var want trace.Step
		for _, s := range all[from:to] {
			if s.PeakAllocated > want.PeakAllocated {
				want = s
			}
		}
		if got := h.of(all[from:to]); got.bytes != want.PeakAllocated || got.number != want.Number {
			t.Fatalf("of steps %d to %d: %d bytes in step %d, want %d in step %d", from+1, to, got.bytes, got.number, want.PeakAllocated, want.Number)
		}
	}
}

// TestTheScaleOfBars has sizes that no device has and a program may claim: the
// power of two above them is not a number of 64 bits.
func TestTheScaleOfBars(t *testing.T) {
	tr := &trace.Trace{Tables: &trace.Tables{}, Devices: []trace.Device{{}}}
	p := &Page{Body: page.Body{Scene: &page.Scene{Index: analysis.NewIndex(tr, &tr.Devices[0])}}}
	for most, want := range map[int64]int64{
		1: 1, 3: 4, 1 << 30: 1 << 30, 1<<30 + 1: 1 << 31, 1 << 62: 1 << 62, 1<<62 + 1: 1<<62 + 1, math.MaxInt64: math.MaxInt64,
	} {
		if got := p.scale(most); got != want {
			t.Errorf("the bar of %d bytes stands for %d, want %d", most, got, want)
		}
	}
}

func TestPinnedMemoryHasASection(t *testing.T) {
	const memoryRanOut = 300 // then the page begins with the failure
	for _, at := range []struct{ w, operations int }{{80, 60}, {200, 60}, {80, memoryRanOut}, {200, memoryRanOut}} {
		w, tr := at.w, pytorchtest.Random(pytorchtest.Options{Operations: at.operations})
		draw := func() string {
			p := New(page.NewScene(screen.NewTheme(false, false), analysis.NewIndex(tr, &tr.Devices[0])))
			deliver(p.Refresh(w, 200))
			return ansi.Strip(p.View(w, 200))
		}
		of := analysis.PinnedOf(tr).Summary()
		drawn := draw()
		for _, want := range []string{
			"─ Pinned host memory ─", screen.Bytes(of.PeakRequested), screen.Bytes(of.PeakReserved) + " held",
		} {
			if !strings.Contains(drawn, want) {
				t.Errorf("the page lacks %q:\n%s", want, drawn)
			}
		}
		if tr.Pinned = nil; strings.Contains(draw(), "Pinned") {
			t.Error("a file without pinned memory has a section for it")
		}
	}
}

// TestNothingIsExactBesideWhatWasNotSeen has memory that the program has not seen, and a
// program without an allocator that counts.
func TestNothingIsExactBesideWhatWasNotSeen(t *testing.T) {
	for want, test := range map[string]struct {
		shares   []analysis.Share
		settings []trace.Setting
	}{
		"categories exact":            {},
		"not all was seen":            {shares: []analysis.Share{{Name: analysis.NotKnown, Bytes: 1}}},
		"only tensors that were seen": {settings: []trace.Setting{{Key: "allocator", Value: "none"}}},
	} {
		traced := tuitest.Recording()
		if test.settings != nil {
			traced.Settings = test.settings
		}
		p := New(page.NewScene(screen.NewTheme(false, false), analysis.NewIndex(traced, &traced.Devices[0])))
		if got := p.certainty(&facts{shares: test.shares}, 120); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestAPeakBetweenTwoMeasuredStepsIsThatOfTheStepInWhichItRose has the program's own highest
// value rise in a step that was not measured. The first that it says may be from before.
func TestAPeakBetweenTwoMeasuredStepsIsThatOfTheStepInWhichItRose(t *testing.T) {
	var h highest
	steps := []trace.Step{{Number: 7, HighestAllocated: 90}, {Number: 8, PeakAllocated: 50}, {Number: 9}, {Number: 10, HighestAllocated: 95}, {Number: 11}}
	for n, want := range []int64{0, 0, 50, 50, 95, 95} {
		if got := h.of(steps[:n]); got.bytes != want || want == 95 && got.number != 10 {
			t.Errorf("of %d steps: %d bytes in step %d, want %d", n, got.bytes, got.number, want)
		}
	}
}
