package overview

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

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
