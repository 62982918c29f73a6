package tui

import (
	"memtop/tui/events"
	"memtop/tui/overview"
	"memtop/tui/page"
	"memtop/tui/segments"
	"memtop/tui/stacks"
	"memtop/tui/timeline"
)

// tab is one page in the order of the screen. The numbers are fixed; those of
// pages that need a running process are not used for files.
type tab struct {
	name, title, number string
}

var tabs = []tab{
	{page.Overview, "Overview", "1"},
	{page.Timeline, "Timeline", "4"},
	{page.Segments, "Segments", "5"},
	{page.Stacks, "Stacks", "6"},
	{page.Events, "Events", "7"},
}

// makePages makes the pages of a scene.
func makePages(s *page.Scene) map[string]page.Page {
	return map[string]page.Page{
		page.Overview: overview.New(s),
		page.Timeline: timeline.New(s),
		page.Segments: segments.New(s),
		page.Stacks:   stacks.New(s),
		page.Events:   events.New(s),
	}
}
