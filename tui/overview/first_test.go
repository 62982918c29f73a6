package overview

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
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
