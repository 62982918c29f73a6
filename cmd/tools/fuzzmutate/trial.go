package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// trial tries files on the program.
type trial struct {
	options
	folder  string   // for files that are being tried
	formats []string // of export
	tally   tally
}

// newTrial asks the program which formats it has.
func newTrial(ctx context.Context, o options, folder string) (*trial, error) {
	out, err := exec.CommandContext(ctx, o.memtop, "__complete", "export", "--to", "").Output()
	if err != nil {
		return nil, fmt.Errorf("asking %s for its formats: %w", o.memtop, err)
	}
	t := &trial{options: o, folder: folder, tally: newTally(&o)}
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != ':' {
			t.formats = append(t.formats, line)
		}
	}
	if len(t.formats) == 0 {
		return nil, fmt.Errorf("%s names no format to export to", o.memtop)
	}
	return t, nil
}

// progressEvery is how often a line says how far it is.
const progressEvery = 10 * time.Second

// all tries every file. It ends when they, the time or ctx end.
func (t *trial) all(ctx context.Context) {
	if t.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.limit)
		defer cancel()
	}
	numbers := make(chan uint64) // closed by the goroutine below
	go func() {
		defer close(numbers)
		for n := t.from; n < t.from+t.files; n++ {
			select {
			case numbers <- n:
			case <-ctx.Done():
				return
			}
		}
	}()
	done := make(chan struct{}) // closed when the workers are done
	var reporter, workers sync.WaitGroup
	reporter.Go(func() { t.report(done) })
	for range t.workers {
		workers.Go(func() {
			for n := range numbers {
				t.file(n)
			}
		})
	}
	workers.Wait()
	close(done)
	reporter.Wait()
}

func (t *trial) report(done <-chan struct{}) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			t.tally.progress(os.Stdout, t.files)
		case <-done:
			return
		}
	}
}

// file tries one file. The screen mostly waits, so the commands run beside it.
func (t *trial) file(number uint64) {
	s := &sample{trial: t, number: number, folder: filepath.Join(t.folder, fmt.Sprint(number))}
	defer os.RemoveAll(s.folder)
	if err := s.obtain(); err != nil {
		t.tally.fail(s, invocation{name: "making the file"}, err.Error())
		return
	}
	var screen sync.WaitGroup
	screen.Go(func() { s.do(s.screen()) })
	for _, i := range s.commands() {
		s.do(i)
	}
	if _, err := os.Stat(s.exported); err == nil {
		s.do(s.again())
	}
	screen.Wait()
	t.tally.file()
}
