package tui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/proposals"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

type fileState uint8

const (
	idle fileState = iota
	loading
	empty // the process has not used its device yet
	indexing
	ready
	failed
	cancelled
)

// file is one file or process to show, with its loading state. Other goroutines
// touch only progress.
type file struct {
	name    string
	live    bool
	load    Load
	state   fileState
	err     error
	source  trace.Source
	trace   *trace.Trace // the newest
	attempt int
	began   time.Time
	cancel  context.CancelFunc
	read    *atomic.Int64
	total   *atomic.Int64
	wanted  int // id of the device to show first
	short   []analysis.Shortage
	device  int // id of the device that is shown
	views   map[int]*view
	growth  growth
	job     AllRanks // the job of this rank, nil for a single program
	at      int      // index among the files
	arrival moment   // the cursor's place when the first device is shown
	listen  func(*file, trace.Growing) tea.Cmd
	whatIf  whatif.Ask // replays requests; nil if not available
}

// view is one device of a file with its pages, which keep their cursors,
// filters and zooms while another is shown.
type view struct {
	scene *page.Scene
	pages map[string]page.Page
}

type loadedMsg struct {
	file    *file
	attempt int
	source  trace.Source
	short   []analysis.Shortage
	err     error
}

type indexedMsg struct {
	file    *file
	attempt int
	device  int
	scene   *page.Scene
}

type tickMsg struct {
	file    *file
	attempt int
}

// start begins the load in a command.
func (f *file) start(now time.Time) tea.Cmd {
	ctx, cancel := context.WithCancel(context.Background())
	f.attempt++
	f.state, f.err, f.cancel, f.began = loading, nil, cancel, now
	read, total := new(atomic.Int64), new(atomic.Int64)
	f.read, f.total = read, total
	load, attempt := f.load, f.attempt
	return func() tea.Msg {
		source, err := load(ctx, func(r, t int64) {
			read.Store(r)
			total.Store(t)
		})
		return loadedMsg{f, attempt, source, shortages(source), err}
	}
}

// shortages returns which of several devices ran out of memory. It returns none
// for a running process, whose present matters more.
func shortages(s trace.Source) []analysis.Shortage {
	if s == nil {
		return nil
	}
	if t := s.Trace(); !t.Info.Growing && len(t.Devices) > 1 {
		return analysis.Shortages(t)
	}
	return nil
}

// stop cancels a running load.
func (f *file) stop() {
	f.cancel()
	f.attempt++ // ignores everything that the load still sends
	f.state = cancelled
}

// loaded handles the end of a load, and returns the command that indexes the
// first device to show.
func (f *file) loaded(msg loadedMsg, device int, theme *screen.Theme) tea.Cmd {
	if msg.attempt != f.attempt {
		if msg.source != nil {
			return closing(msg.source)
		}
		return nil
	}
	if msg.err != nil {
		f.state, f.err = failed, msg.err
		return nil
	}
	f.source, f.trace, f.views, f.wanted = msg.source, msg.source.Trace(), make(map[int]*view), device
	f.growth, f.short = growth{}, msg.short
	return tea.Batch(f.begin(theme), f.wait())
}

// begin shows the first device, if there is one.
func (f *file) begin(theme *screen.Theme) tea.Cmd {
	if len(f.trace.Devices) == 0 {
		if f.trace.Info.Growing {
			f.state = empty
			return nil
		}
		f.state, f.err = failed, errors.New("the file has no segments and no events on any device")
		return nil
	}
	f.device = f.trace.Devices[f.firstDevice()].ID
	return f.index(theme)
}

// closing closes a source that is no longer needed.
func closing(s trace.Source) tea.Cmd {
	return func() tea.Msg {
		if err := s.Close(); err != nil {
			return page.Note{Text: "closing: " + err.Error()}
		}
		return nil
	}
}

// firstDevice returns the index of the device asked for, or else of the first
// that ran out of memory, or else of the fullest, or else of the one with the most
// events.
func (f *file) firstDevice() int {
	wanted := []int{f.wanted}
	for _, s := range f.short {
		wanted = append(wanted, s.Device)
	}
	for _, id := range wanted {
		if i := slices.IndexFunc(f.trace.Devices, func(d trace.Device) bool { return d.ID == id }); i >= 0 {
			return i
		}
	}
	best := 0
	for i := range f.trace.Devices {
		a, b := &f.trace.Devices[i], &f.trace.Devices[best]
		if cmp.Or(cmp.Compare(a.Final.Reserved(), b.Final.Reserved()), cmp.Compare(a.Events.Len(), b.Events.Len())) > 0 {
			best = i
		}
	}
	return best
}

// index makes the index of the current device in a command, unless it exists.
func (f *file) index(theme *screen.Theme) tea.Cmd {
	t, id, attempt := f.trace, f.device, f.attempt
	if f.views[id] != nil {
		f.state = ready
		return nil
	}
	f.state = indexing
	return func() tea.Msg {
		return indexedMsg{f, attempt, id, page.NewScene(theme, analysis.NewIndex(t, t.Device(id)))}
	}
}

// indexed stores a finished view.
func (f *file) indexed(msg indexedMsg) {
	if msg.attempt != f.attempt {
		return
	}
	msg.scene.WhatIf = f.whatIf
	if program, ok := f.source.(proposals.Program); ok && !msg.scene.ReadOnly && f.source.Trace().Info.Control {
		msg.scene.Program = program
	}
	f.views[msg.device] = &view{scene: msg.scene, pages: makePages(msg.scene)}
	if msg.device == f.device {
		f.state = ready
		f.arriveAt(f.arrival)
	}
}

// arriveAt moves the cursor to a moment, now or when the device is shown.
func (f *file) arriveAt(at moment) {
	f.arrival = at
	if v := f.current(); v != nil {
		at.apply(v.scene)
		f.arrival = moment{}
	}
}

// current returns the view to show, nil for none yet.
func (f *file) current() *view {
	if f.state != ready {
		return nil
	}
	return f.views[f.device]
}

// nextDevice returns the id of the device after the one that is shown.
func (f *file) nextDevice() int {
	devices := f.trace.Devices
	at := slices.IndexFunc(devices, func(d trace.Device) bool { return d.ID == f.device })
	return devices[(at+1)%len(devices)].ID
}
