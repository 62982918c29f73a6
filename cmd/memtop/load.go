package main

import (
	"context"
	"errors"
	"os"
	"time"

	"memtop/probe"
	"memtop/snapshots"
	"memtop/snapshots/trace"
)

// load opens a file with the settings in force.
func (a *app) load(ctx context.Context, path string, progress trace.Progress) (trace.Source, error) {
	start := time.Now()
	source, err := snapshots.Open(ctx, path, snapshots.Options{
		MaxMemory: int64(a.settings.maxMemory), Progress: progress,
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
func (a *app) now(ctx context.Context, target string) (_ *trace.Trace, err error) {
	f, err := os.CreateTemp("", "memtop-*.pickle")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if err := probe.Snapshot(ctx, target, f); err != nil {
		return nil, err
	}
	source, err := a.load(ctx, f.Name(), nil)
	if err != nil {
		return nil, err
	}
	t := *source.Trace()
	t.Info.Kind, t.Info.Path = "live", "process "+target
	return &t, source.Close()
}
