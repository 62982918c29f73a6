package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/reopen"
	"github.com/memtop/memtop/snapshots/trace"
)

// defaultIndexes is how much disk the entries of large files may take.
const defaultIndexes = 2 << 30

// indexesPath returns the folder of the entries, "" where the home folder is not known.
func indexesPath() string {
	if cache := cachePath(); cache != "" {
		return filepath.Join(cache, "indexes")
	}
	return ""
}

// indexesText says what is kept to open files again.
func indexesText() string {
	path := indexesPath()
	entries, bytes, err := (&reopen.Cache{Folder: path}).Size()
	switch {
	case errors.Is(err, reopen.ErrNone), path == "":
		return present(path)
	case err != nil:
		return "not used: " + err.Error()
	default:
		return fmt.Sprintf("%s: %d files, %s (open --index-cache)", path, entries, quantity.Bytes(bytes))
	}
}

// reopening opens the files of a screen, large ones from what was kept of them, and keeps
// what was decoded. It owns the goroutines that do so beside the screen.
type reopening struct {
	*app
	cache *reopen.Cache // nil for none
	ctx   context.Context
	end   context.CancelFunc
	wait  sync.WaitGroup
	turn  sync.Mutex // one is kept at a time
}

func (a *app) reopening(ctx context.Context) *reopening {
	o := &reopening{app: a}
	o.ctx, o.end = context.WithCancel(ctx)
	if path := indexesPath(); path != "" && a.settings.indexes > 0 {
		o.cache = &reopen.Cache{Folder: path, Build: build(), Most: int64(a.settings.indexes), From: reopen.DefaultFrom}
	}
	return o
}

// stop gives up what is not kept yet, and waits for that.
func (o *reopening) stop() {
	o.end()
	o.wait.Wait()
}

// load opens a file.
func (o *reopening) load(ctx context.Context, path string, progress trace.Progress) (trace.Source, error) {
	if o.cache == nil || path == snapshots.StandardInput {
		return o.app.load(ctx, path, progress)
	}
	start := time.Now()
	file, worth := o.cache.Look(path)
	if !worth {
		return o.app.load(ctx, path, progress)
	}
	var s *reopen.Source
	var err error
	o.limits.rest(-1, func() { s, err = o.cache.Open(ctx, path, progress) })
	if err == nil {
		o.log.Info("open", "path", path, "took", time.Since(start), "kept", s.Made)
		if !s.Known {
			o.keep(file, s)
		}
		return s, nil
	}
	o.log.Info("not reopened", "path", path, "error", err)
	decoded, err := o.app.load(ctx, path, progress)
	if err != nil {
		return nil, err
	}
	s = reopen.Of(decoded)
	o.keep(file, s)
	return s, nil
}

// keep keeps a source beside the screen, once that has an index.
func (o *reopening) keep(file reopen.File, s *reopen.Source) {
	o.wait.Go(func() {
		select {
		case <-s.Used():
		case <-o.ctx.Done():
			return
		}
		o.turn.Lock()
		defer o.turn.Unlock()
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		reopen.BeLast()
		start := time.Now()
		err := o.cache.Keep(o.ctx, file, s)
		o.log.Info("keep", "path", file.Path, "took", time.Since(start), "error", err)
	})
}

// build says which program this is: another one's entries are not read. The file says
// what the version does not, of a program that was built of changed sources.
func build() string {
	text := command.Version("memtop")
	if info, ok := debug.ReadBuildInfo(); ok {
		text += "\n" + info.String()
	}
	path, err := os.Executable()
	if err != nil {
		return text
	}
	var file fs.FileInfo
	if file, err = os.Stat(path); err == nil {
		text += fmt.Sprintf("\n%d bytes of %d", file.Size(), file.ModTime().UnixNano())
	}
	return text
}
