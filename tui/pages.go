package tui

import (
	"cmp"
	"strings"

	"github.com/memtop/memtop/tui/advice"
	"github.com/memtop/memtop/tui/events"
	"github.com/memtop/memtop/tui/experiments"
	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/layers"
	"github.com/memtop/memtop/tui/overview"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/segments"
	"github.com/memtop/memtop/tui/stacks"
	"github.com/memtop/memtop/tui/tensors"
	"github.com/memtop/memtop/tui/timeline"
)

// tab is one page of the screen. Its place in the list of all pages is its number
// and its key. Both are fixed, even if a file has nothing for the pages before
// it.
type tab struct {
	name string                      // for --page and [page.Open]
	open func(*page.Scene) page.Page // nil if the page does not show one scene
	word string                      // in place of a long name where there is little room, "" for none
}

// tabs are all pages, in the order of the screen. A new page is a line here.
var tabs = []tab{
	{page.Overview, opens(overview.New), ""},
	{"layers", opens(layers.New), ""},
	{page.Tensors, opens(tensors.New), ""},
	{page.Timeline, opens(timeline.New), "time"},
	{page.Segments, opens(segments.New), "map"},
	{"stacks", opens(stacks.New), ""},
	{page.Events, opens(events.New), ""},
	{"experiments", opens(experiments.New), "trials"},
	{page.Ranks, nil, ""}, // shows the job
	{"advice", opens(advice.New), ""},
}

// opens turns a page's constructor into a tab's.
func opens[P page.Page](open func(*page.Scene) P) func(*page.Scene) page.Page {
	return func(s *page.Scene) page.Page { return open(s) }
}

// Pages returns the names of the pages, in the order of the screen.
func Pages() []string {
	names := make([]string, len(tabs))
	for i := range tabs {
		names[i] = tabs[i].name
	}
	return names
}

// pageNamed returns the name of the page with a name or a number, "" when there
// is none.
func pageNamed(text string) string {
	for i := range tabs {
		if text == keys.PageKey(i) || strings.EqualFold(text, tabs[i].name) {
			return tabs[i].name
		}
	}
	return ""
}

// title is the page's name as a heading.
func (t *tab) title() string { return capital(t.name) }

// shortTitle is title in at most eight letters.
func (t *tab) shortTitle() string { return capital(cmp.Or(t.word, t.name)) }

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// makePages makes the pages of a scene.
func makePages(s *page.Scene) map[string]page.Page {
	pages := make(map[string]page.Page, len(tabs))
	for _, t := range tabs {
		if t.open != nil {
			pages[t.name] = t.open(s)
		}
	}
	return pages
}
