package main

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/trace"
)

// loader reads files, and the snapshots of processes.
type loader struct {
	*dialer
	limits  limits
	answers map[string]answer // of memtop report, by path: they are printed from instead of snapshots
	cut     error             // about a file that ended early, of those printed from
}

// load opens a file with the current settings.
func (l *loader) load(ctx context.Context, path string, progress trace.Progress) (trace.Source, error) {
	return l.loadAs(ctx, path, path, progress)
}

// loadAs is load, but its bound on memory replaces the previous bound of the same
// name.
func (l *loader) loadAs(ctx context.Context, name, path string, progress trace.Progress) (trace.Source, error) {
	start := time.Now()
	var source trace.Source
	var err error
	l.limits.reading(func() {
		source, err = snapshots.Open(ctx, path, snapshots.Options{
			MaxMemory: int64(l.settings.maxMemory), Progress: progress,
			Bounded: func(bound int64) { l.limits.bound(name, bound) },
		})
	})
	if err != nil {
		l.log.Info("open", "path", path, "error", err)
		return nil, err
	}
	info := source.Trace().Info
	l.log.Info("open", "path", path, "took", time.Since(start),
		"container", info.Container, "bytes", info.Bytes, "writer", info.Writer)
	return source, nil
}

// trace opens a file, or attaches to a process, for a command that needs all of
// it at once. If a file ends early, the command uses the part that is there, but
// still fails at the end, so that a script does not take the part for the whole.
func (l *loader) trace(ctx context.Context, path string) (*trace.Trace, error) {
	t, err := l.read(ctx, path, path)
	if err == nil {
		l.noteCut(&t.Info)
	}
	return t, err
}

// chosenTrace is trace, narrowed to the device that the user has chosen.
func (l *loader) chosenTrace(ctx context.Context, path string) (*trace.Trace, error) {
	t, err := l.trace(ctx, path)
	if err != nil {
		return nil, err
	}
	return l.settings.chosen(t)
}

// read is trace for a caller that notes files that end early itself. The name is
// that of [loader.loadAs].
func (l *loader) read(ctx context.Context, name, path string) (*trace.Trace, error) {
	if isLive(path) {
		return l.now(ctx, path)
	}
	source, err := l.loadAs(ctx, name, path, nil)
	if err != nil {
		return nil, err
	}
	return source.Trace(), source.Close()
}

// noteCut notes that a file ends early. One goroutine calls it at a time.
func (l *loader) noteCut(i *trace.Info) {
	if !i.Truncated {
		return
	}
	remedy := "copy it again from where it was dumped"
	if i.Kind == "recording" {
		remedy = "if it is being recorded, look again when that has ended"
	}
	l.cut = command.Failure{Code: command.ExitCorrupt, Cause: i.Path + ": the file ends early; what was readable was used", Remedy: remedy}
}

// now returns a process's memory and its history. It uses the snapshot that the
// process writes, because the snapshot has all events that the probe still keeps.
// The live stream begins with the next event.
func (d *dialer) now(ctx context.Context, target string) (*trace.Trace, error) {
	return d.fetchLooked(ctx, target, io.Discard)
}

// fetchLooked is fetch for a process that has measured a whole step. A process that
// measures only while it is watched is watched until then: before, it has neither
// history nor stacks, and says of no memory what it is for.
func (d *dialer) fetchLooked(ctx context.Context, target string, w io.Writer) (*trace.Trace, error) {
	done, err := d.watchWhole(ctx, target)
	if err != nil {
		return nil, err
	}
	defer done()
	return d.fetch(ctx, target, w)
}

// fetch copies the snapshot that a process writes, and returns its content.
func (d *dialer) fetch(ctx context.Context, target string, w io.Writer) (*trace.Trace, error) {
	start := time.Now()
	most := cmp.Or(int64(d.settings.maxMemory), min(snapshots.MostMemory(), attach.MaxSnapshot))
	m, process, err := d.machines.On(ctx, target)
	if err != nil {
		return nil, err
	}
	t, err := m.Snapshot(ctx, process, w, attach.SnapshotOptions{MaxMemory: most})
	if err != nil {
		d.log.Info("snapshot", "target", target, "error", err)
		return nil, err
	}
	d.log.Info("snapshot", "target", target, "took", time.Since(start), "bytes", t.Info.Bytes)
	return t, nil
}
