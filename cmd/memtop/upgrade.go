package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/memtop/rehearse"
	"github.com/memtop/memtop/cmd/output"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// upgrade rehearses a command with two Pythons, and prints how its peaks differ and why. The limit, if there is one, is
// how much more the second may take.
func (a *app) upgrade(ctx context.Context, r *rehearse.Rehearsal, g imitation.GPU, pythons, args []string, limit *command.Size) error {
	folder, err := os.MkdirTemp("", "memtop-upgrade-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	r.NoAdvice = true
	var found [2]*report.Rehearsal
	var peaks [2]*trace.Trace
	for i, python := range pythons {
		a.note("rehearsing with " + python)
		r.To = output.File{Path: filepath.Join(folder, fmt.Sprintf("%d.pickle", i))}
		if found[i], peaks[i], err = a.rehearsePeak(ctx, r, g, withPython(python, args)); err != nil {
			return err
		}
	}
	peak := analysis.Moment{}
	if err := peak.Set("peak"); err != nil {
		return err
	}
	difference, err := report.NewDiffAt(peaks[0], peak, peaks[1], peak)
	if err != nil {
		return err
	}
	u := report.NewUpgrade(found[0], found[1], difference)
	if err := a.print(u); err != nil {
		return err
	}
	if limit != nil && u.Grew > int64(*limit) {
		return exceeded(fmt.Sprintf("with %s it takes %s more, and --max-growth allows %s", pythons[1], quantity.Bytes(u.Grew), limit), "find the lines that grew in the difference")
	}
	return nil
}

// rehearsePeak rehearses a command, and returns the result with the recording of its fullest device's rank.
func (a *app) rehearsePeak(ctx context.Context, r *rehearse.Rehearsal, g imitation.GPU, args []string) (*report.Rehearsal, *trace.Trace, error) {
	found, code, err := r.Run(ctx, g, args, rehearse.Streams{Stdout: a.stderr.Raw(), Stderr: a.stderr.Raw()})
	switch {
	case err != nil:
		return nil, nil, err
	case found.Failed():
		return nil, nil, rehearse.Failed(code, args)
	case found.Most() == nil || found.Most().Snapshot == "":
		return nil, nil, command.Failure{Code: command.ExitError, Cause: strings.Join(args, " ") + " left no recording of a device"}
	}
	t, err := a.files.trace(ctx, found.Most().Snapshot)
	for i := range found.Ranks {
		found.Ranks[i].Snapshot = "" // they are gone when the answer is read
	}
	return found, t, err
}

// withPython returns a command with another Python in front, in place of one that the command begins with.
func withPython(python string, args []string) []string {
	if strings.HasPrefix(filepath.Base(args[0]), "python") {
		args = args[1:]
	}
	return slices.Concat([]string{python}, args)
}
