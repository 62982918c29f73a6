package main

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"strings"
	"time"

	"github.com/memtop/memtop/cmd/tools/terminal"
)

// pages are the keys of all pages; after each follow some of the others, which
// leave no prompt open.
var pages = []string{"2", "3", "4", "5", "6", "7", "8", "1"}

var otherKeys = []string{
	"G", "g", "j", "k", "l", "h", "\r", "e", "p", "o", "$", "^", "d", "+", "-", "<", ">", "I", "z", "n", "N", "c", "y", "t", "m", "\t", "/a\r", "\\a\r",
}

const (
	drawn   = 100 * time.Millisecond // how long a page is waited for, about three frames
	obeyed  = 40 * time.Millisecond  // likewise the answer to another key, which may have none
	leaving = 2 * time.Second        // after which it is asked to leave once more
)

// look opens the file on a screen, goes through all pages and leaves.
func look(ctx context.Context, cmd *exec.Cmd, number uint64) outcome {
	watch := &watcher{screen: true}
	t, err := terminal.StartWatched(cmd, 80, 24, watch)
	if err != nil {
		return outcome{err: err}
	}
	shown := func(text string) bool { return strings.TrimSpace(text) != "" }
	if err := t.Until(ctx, shown); err == nil {
		walk(ctx, t, number)
	}
	again := time.AfterFunc(leaving, func() { _ = t.Press("\x03") }) // it may have left
	_ = t.Press("q")
	_, _, err = t.Wait(ctx)
	again.Stop()
	o := ended(cmd.ProcessState)
	if o.signal == 0 { // that it did not leave by itself is seen by the signal
		o.err = err
	}
	o.stderr = t.Text()
	o.amiss = watch.end("the screen")
	return o
}

// walk goes through all pages, as long as keys are answered.
func walk(ctx context.Context, t *terminal.Terminal, number uint64) {
	r := rand.New(rand.NewPCG(number, 1))
	press(ctx, t, "?", drawn)
	press(ctx, t, "?", drawn)
	unanswered := 0
	for _, page := range pages {
		if !press(ctx, t, page, drawn) {
			unanswered++
		}
		if unanswered == 2 {
			return
		}
		press(ctx, t, otherKeys[r.IntN(len(otherKeys))], obeyed)
	}
}

// press presses keys and reports whether that changes the screen in time.
func press(ctx context.Context, t *terminal.Terminal, keys string, within time.Duration) bool {
	before := t.Written()
	if t.Press(keys) != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return t.Until(ctx, func(string) bool { return t.Written() > before }) == nil
}
