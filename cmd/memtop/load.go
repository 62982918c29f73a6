package main

import (
	"cmp"
	"context"
	"io"
	"time"

	"memtop/probe/attach"
	"memtop/snapshots"
	"memtop/snapshots/trace"
)

// load opens a file with the settings in force.
func (a *app) load(ctx context.Context, path string, progress trace.Progress) (trace.Source, error) {
	start := time.Now()
	source, err := snapshots.Open(ctx, path, snapshots.Options{
		MaxMemory: int64(a.settings.maxMemory), Progress: progress,
		Bounded: func(bound int64) { a.limits.bound(path, bound) },
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
	if isLive(path) {
		return a.now(ctx, path)
	}
	source, err := a.load(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	t := source.Trace()
	if t.Info.Truncated {
		a.cut = cutError{path, "copy it again from where it was dumped"}
	}
	if t.Info.Truncated && t.Info.Kind == "recording" {
		a.cut.remedy = "if it is being recorded, look again when that has ended"
	}
	return t, source.Close()
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
