package tui

import (
	"context"
	"time"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/proposals"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/screen"
)

// Load reads a trace. It is called on a goroutine of its own, reports its
// progress, and ends early when ctx is cancelled. A source that is a
// [trace.Growing] is shown as it grows, and one that is a [trace.Controller]
// takes settings; the program that runs the screen closes what is still open
// when that ends.
type Load func(ctx context.Context, progress trace.Progress) (trace.Source, error)

// File is something to show.
type File struct {
	Name string // as the reader knows it; a path, or a process
	Load Load
	Live bool // it is a process: what the screen says while it waits for it, and when it cannot be reached
}

// Write writes what is shown to a file: the index's trace, as it is right after
// an event where that matters. Unless overwrite is set it leaves a file that is
// there alone and returns an error that wraps fs.ErrExist. It is called on a
// goroutine of its own.
type Write func(x *analysis.Index, event int, path string, overwrite bool) error

// Options say how to start. The zero value is usable.
type Options struct {
	// Ranks are the rows of the files, which are the ranks of one job; nil for files
	// that are not.
	Ranks   Ranks
	First   int    // the file that is shown first
	Page    string // name or number of the first page; "" is the overview, of a job the ranks
	Device  int    // device to show first; below 0, or when the file lacks it, the one that ran out of memory first, else with the most events
	Color   string // "auto" or "", "always", "never"
	Theme   string // one of [Themes], "" for the first
	ASCII   bool   // draw with the characters from space to tilde only
	NoMouse bool   // leave the mouse to the terminal
	Export  Write  // what x does, in the format that the path's ending names; nil without that key
	Save    Write  // what s does, as a PyTorch snapshot; nil without that key
	// WhatIf is what w asks: the recorded requests under other settings of the
	// allocator. It is called on a goroutine of its own; nil without that key.
	WhatIf whatif.Ask
	// Past returns how far predictions for a running program, and for others like it,
	// were off. It may read files, and is called by commands.
	Past     func(t *trace.Trace, device int) proposals.Ledger
	ReadOnly bool // the keys that change a process are gone
	Own      bool // the process is the reader's own, to play with: no change is asked about
	// Interval is how often a process sends its news, 0 when not known. The
	// screen is drawn when something arrives, not by a clock of its own.
	Interval time.Duration
}

// colour says whether to use colour; what "auto" means for a terminal that has
// none is decided by the program's colour profile, later, by its message.
func (o Options) colour() bool { return o.Color != "never" }

// Themes returns the names of the sets of colours, the default first, and what each is
// for.
func Themes() (names, about []string) { return screen.Palettes() }
