package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/memtop/memtop/cmd/output"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/export"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// writers implements the screen's keys for writing files. It is safe for
// concurrent use, and writes one file at a time.
type writers struct {
	ctx     context.Context
	inputs  []fs.FileInfo // never written over
	writing sync.Mutex
}

// newWriters returns writers for a screen that shows files. The returned function
// cancels the current write and waits until it has cleaned up.
func newWriters(ctx context.Context, files ...string) (*writers, func()) {
	ctx, cancel := context.WithCancel(ctx)
	w := &writers{ctx: ctx, inputs: output.Inputs(files...)}
	return w, func() {
		cancel()
		w.writing.Lock()
		defer w.writing.Unlock()
	}
}

// export writes the index's device, with its state right after an event, in the
// format that the path's extension names. It is a [tui.Write].
func (w *writers) export(x *analysis.Index, event int, path string, overwrite bool) error {
	f, ok := export.ForPath(path, exports())
	if !ok {
		return fmt.Errorf("the ending of %s is none of %s", filepath.Base(path), extensions())
	}
	t := *x.Trace()
	t.Devices = []trace.Device{*x.Device()}
	o := export.Options{At: analysis.At(event), Indexes: []*analysis.Index{x}}
	return w.write(path, overwrite, func(out io.Writer) error { return f.Write(out, &t, o) })
}

// save writes all devices as a snapshot of PyTorch. It is a [tui.Write].
func (w *writers) save(x *analysis.Index, _ int, path string, overwrite bool) error {
	return w.write(path, overwrite, func(out io.Writer) error { return pytorch.Write(out, x.Trace()) })
}

func (w *writers) write(path string, overwrite bool, write func(io.Writer) error) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	if err := w.ctx.Err(); err != nil {
		return err
	}
	to := output.File{Path: fromHome(path), Overwrite: overwrite, Inputs: w.inputs}
	return to.Write(func(out io.Writer) error { return write(while(w.ctx, out)) })
}

// fromHome replaces ~ by the home folder, as a shell does.
func fromHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	home, err := os.UserHomeDir()
	if !ok || err != nil {
		return path
	}
	return filepath.Join(home, rest)
}

// extensions lists the usual extension of each format.
func extensions() string {
	var all []string
	for _, f := range exports() {
		all = append(all, f.Extensions[0])
	}
	return strings.Join(all, " ")
}
