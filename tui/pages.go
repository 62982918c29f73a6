package tui

import (
	"charm.land/bubbles/v2/key"

	"memtop/tui/events"
	"memtop/tui/experiments"
	"memtop/tui/keys"
	"memtop/tui/layers"
	"memtop/tui/overview"
	"memtop/tui/page"
	"memtop/tui/segments"
	"memtop/tui/stacks"
	"memtop/tui/tensors"
	"memtop/tui/timeline"
)

// tab is one page in the order of the screen. The numbers are fixed: a page
// that a file has nothing for says what it needs instead of being left out.
type tab struct {
	name, title, number string
	short               string // title where eight of them have little room
	open                func(*page.Scene) page.Page
}

var tabs = []tab{
	{page.Overview, "Overview", "1", "Overview", opens(overview.New)},
	{page.Layers, "Layers", "2", "Layers", opens(layers.New)},
	{page.Tensors, "Tensors", "3", "Tensors", opens(tensors.New)},
	{page.Timeline, "Timeline", "4", "Timeline", opens(timeline.New)},
	{page.Segments, "Segments", "5", "Segments", opens(segments.New)},
	{page.Stacks, "Stacks", "6", "Stacks", opens(stacks.New)},
	{page.Events, "Events", "7", "Events", opens(events.New)},
	{page.Experiments, "Experiments", "8", "Exper", opens(experiments.New)},
}

// opens turns a page's constructor into that of a tab.
func opens[P page.Page](open func(*page.Scene) P) func(*page.Scene) page.Page {
	return func(s *page.Scene) page.Page { return open(s) }
}

// key returns the binding that goes to the tab.
func (t *tab) key(k *keys.Global) key.Binding {
	return [...]key.Binding{k.Overview, k.Layers, k.Tensors, k.Timeline, k.Segments, k.Stacks, k.Events, k.Experiments}[t.number[0]-'1']
}

// makePages makes the pages of a scene.
func makePages(s *page.Scene) map[string]page.Page {
	pages := make(map[string]page.Page, len(tabs))
	for _, t := range tabs {
		pages[t.name] = t.open(s)
	}
	return pages
}
