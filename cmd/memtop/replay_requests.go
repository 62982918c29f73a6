package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/engine/replay"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

func (a *app) replayCommand() *cobra.Command {
	var settings, releases []string
	var memory command.Size
	cmd := &cobra.Command{
		Use:   "replay FILE|PID [--alloc-conf SETTINGS...] [--torch RELEASES]",
		Short: "Print what the recorded requests would take under other allocator settings",
		Long: `Give the recorded requests to memtop's own allocator, which has PyTorch's rules, under
other settings in the syntax of PYTORCH_CUDA_ALLOC_CONF. Print the peaks of reserved and
allocated memory, and whether the request that ran out of memory would have fit.

First memtop replays the recorded settings, and prints whether that gives the recorded
reserved memory at every event, and if not, why.

If the recording has an out-of-memory event, memtop takes the size of memory from it;
otherwise memory has no end unless you set --device-memory. Without --alloc-conf memtop
tries a few settings that often help.

With --torch memtop tries the allocators of other releases of PyTorch, under the
recorded settings or each --alloc-conf: what would an upgrade cost?`,
		Example: `  memtop replay oom.pickle --alloc-conf expandable_segments:True
  memtop replay oom.pickle --alloc-conf max_split_size_mb:128 --alloc-conf roundup_power2_divisions:4 --json
  memtop replay run.pickle --torch 2.9,2.15
  memtop replay run.pickle --device-memory 24GiB`,
		Args: files(1, 1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			return a.files.replay(cmd.Context(), paths[0], whatif.Question{Settings: settings, Releases: releases, Memory: int64(memory)})
		},
	}
	a.settings.readFlags(cmd.Flags())
	a.settings.deviceFlag(cmd.Flags())
	a.settings.jsonFlag(cmd.Flags())
	cmd.Flags().StringArrayVar(&settings, "alloc-conf", nil, "`SETTINGS` to try, such as expandable_segments:True; may be repeated")
	cmd.Flags().StringSliceVar(&releases, "torch", nil, "`RELEASES` of PyTorch whose allocators to try, such as 2.9,2.15")
	cmd.Flags().Var(&memory, "device-memory", "memory of the device that the process may use, such as 80GiB")
	return cmd
}

// replay prints the memory that the requests of a file would take.
func (l *loader) replay(ctx context.Context, path string, q whatif.Question) error {
	t, err := l.chosenTrace(ctx, path)
	if err != nil {
		return err
	}
	d := replayed(t)
	if d == nil {
		return command.Usage(path+" has no segments and no events on any device", "a file that was recorded with history")
	}
	q.Trace, q.Device = t, d
	answer, err := replay.Answer(ctx, q)
	var wrong *whatif.SettingsError
	switch {
	case errors.As(err, &wrong):
		return command.Usage(wrong.Error(), wrong.Remedy)
	case err != nil:
		return err
	case !l.settings.json:
		fmt.Fprintf(l.stdout, "%s, device %d\n\n", path, d.ID)
	}
	return l.print(report.NewReplay(answer))
}

// replayed returns the device to replay: the one that ran out of memory first,
// else the one with the most events. It returns nil if there is no device.
func replayed(t *trace.Trace) *trace.Device {
	for _, s := range analysis.Shortages(t) {
		return t.Device(s.Device)
	}
	var best *trace.Device
	for i := range t.Devices {
		if d := &t.Devices[i]; best == nil || d.Events.Len() > best.Events.Len() {
			best = d
		}
	}
	return best
}
