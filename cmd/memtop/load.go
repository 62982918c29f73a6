package main

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/trace"
)

// load opens a file with the settings in force.
func (a *app) load(ctx context.Context, path string, progress trace.Progress) (trace.Source, error) {
	return a.loadAs(ctx, path, path, progress)
}

// loadAs is load where the bound on memory replaces the one before of the same name.
func (a *app) loadAs(ctx context.Context, name, path string, progress trace.Progress) (trace.Source, error) {
	start := time.Now()
	var source trace.Source
	var err error
	a.limits.reading(func() {
		source, err = snapshots.Open(ctx, path, snapshots.Options{
			MaxMemory: int64(a.settings.maxMemory), Progress: progress,
			Bounded: func(bound int64) { a.limits.bound(name, bound) },
		})
	})
	if err != nil {
		a.log.Info("open", "path", path, "error", err)
		return nil, err
	}
	info := source.Trace().Info
	a.log.Info("open", "path", path, "took", time.Since(start),
		"container", info.Container, "bytes", info.Bytes, "writer", info.Writer)
	return source, nil
}

// trace opens a file, or attaches to a process, for a command that needs all of
// it at once. What is there of a file that ends early is used, and the command
// then fails all the same: a script must not take it for the whole.
func (a *app) trace(ctx context.Context, path string) (*trace.Trace, error) {
	t, err := a.read(ctx, path, path)
	if err == nil {
		a.noteCut(&t.Info)
	}
	return t, err
}

// chosenTrace is trace with what the user has chosen of it.
func (a *app) chosenTrace(ctx context.Context, path string) (*trace.Trace, error) {
	t, err := a.trace(ctx, path)
	if err != nil {
		return nil, err
	}
	return a.chosen(t)
}

// read is trace for a caller that notes by itself what ends early. The name is that of
// [app.loadAs].
func (a *app) read(ctx context.Context, name, path string) (*trace.Trace, error) {
	if isLive(path) {
		return a.now(ctx, path)
	}
	source, err := a.loadAs(ctx, name, path, nil)
	if err != nil {
		return nil, err
	}
	return source.Trace(), source.Close()
}

// noteCut notes that a file ends early. One goroutine calls it at a time.
func (a *app) noteCut(i *trace.Info) {
	if i.Truncated {
		a.cut = cutError{i.Path, "copy it again from where it was dumped"}
	}
	if i.Truncated && i.Kind == "recording" {
		a.cut.remedy = "if it is being recorded, look again when that has ended"
	}
}

// now returns what a process can tell of its memory and of how it came to be so:
// the snapshot that it writes has all events that its probe still knows, where
// the live stream begins with the next.
func (a *app) now(ctx context.Context, target string) (*trace.Trace, error) {
	return a.fetch(ctx, target, io.Discard)
}

// fetch copies the snapshot that a process writes, and returns what it says.
func (a *app) fetch(ctx context.Context, target string, w io.Writer) (*trace.Trace, error) {
	start := time.Now()
	most := cmp.Or(int64(a.settings.maxMemory), min(snapshots.MostMemory(), attach.MaxSnapshot))
	m, process, err := a.on(ctx, target)
	if err != nil {
		return nil, err
	}
	t, err := m.Snapshot(ctx, process, w, attach.SnapshotOptions{MaxMemory: most})
	if err != nil {
		a.log.Info("snapshot", "target", target, "error", err)
		return nil, err
	}
	a.log.Info("snapshot", "target", target, "took", time.Since(start), "bytes", t.Info.Bytes)
	return t, nil
}
