package tui

import (
	"context"
	"time"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/screen"
)

// Load reads a trace. It runs on a goroutine of its own, reports its progress,
// and ends early when ctx is cancelled. The screen follows a source that is a
// [trace.Growing], and changes settings of one that is a [trace.Controller]. The
// program that runs the screen closes the sources that are still open at the end.
type Load func(ctx context.Context, progress trace.Progress) (trace.Source, error)

// File is a file or a process to show.
type File struct {
	Name string // the user's name for it: a path, or a process
	Load Load
	Live bool // it is a process: this changes the texts while the screen waits for it, and when it cannot be reached
}

// Write writes the shown trace to a file. If the format has one moment, it is the
// one right after the event. Without overwrite it does not touch an existing
// file, and returns an error that wraps fs.ErrExist. It runs on a goroutine of
// its own.
type Write func(x *analysis.Index, event int, path string, overwrite bool) error

// Options say how to start. The zero value is usable.
type Options struct {
	// Ranks are the rows of the files if those are the ranks of one job, else nil.
	Ranks   Ranks
	First   int    // the first shown file
	Page    string // name or number of the first page; "" is the overview, of a job the ranks
	Device  int    // first shown device; below 0, or if the file lacks it, the device that ran out of memory first, else the one with the most events
	Color   string // "auto" or "", "always", "never"
	Theme   string // one of [Themes], "" for the first
	ASCII   bool   // draw with the characters from space to tilde only
	NoMouse bool   // leave the mouse to the terminal
	Export  Write  // the action of x, in the format of the path's ending; nil without that key
	Save    Write  // the action of s, as a PyTorch snapshot; nil without that key
	// WhatIf is the action of w: it replays the recorded requests under other
	// settings of the allocator. It runs on a goroutine of its own; nil without that
	// key.
	WhatIf   whatif.Ask
	ReadOnly bool // disables the keys that change a process
	Own      bool // the process is a demonstration: changes need no confirmation
	// Interval is how often a process sends its news, 0 when unknown. The screen
	// draws when news arrives, not by its own clock.
	Interval time.Duration
}

// colour says whether to use colour. With "auto", the terminal's colour profile,
// which arrives later as a message, turns colour off if the terminal has none.
func (o Options) colour() bool { return o.Color != "never" }

// Themes returns the names of the colour themes, the default first, and the
// purpose of each.
func Themes() (names, about []string) { return screen.Palettes() }
