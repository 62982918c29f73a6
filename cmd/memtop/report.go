package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"memtop/cmd/command"
	"memtop/snapshots/analysis"
	"memtop/snapshots/report"
	"memtop/snapshots/trace"
)

func (a *app) reportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report FILE|PID",
		Short: "Print the findings as text, or all numbers as JSON",
		Args:  files(1, 1),
		RunE:  func(cmd *cobra.Command, paths []string) error { return a.reports(cmd.Context(), paths) },
	}
	a.readFlags(cmd.Flags())
	a.deviceFlag(cmd.Flags())
	a.jsonFlag(cmd.Flags())
	return cmd
}

// reports prints a report of each file.
func (a *app) reports(ctx context.Context, paths []string) error {
	for i, path := range paths {
		t, err := a.trace(ctx, path)
		if err != nil {
			return err
		}
		if t, err = a.chosen(t); err != nil {
			return err
		}
		if i > 0 && !a.settings.json {
			fmt.Fprintln(a.stdout)
		}
		r := report.New(t)
		if a.settings.json {
			err = a.printJSON(r)
		} else {
			err = r.Text(a.stdout, a.width())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chosen narrows a trace to the device that --device names.
func (a *app) chosen(t *trace.Trace) (*trace.Trace, error) {
	if a.settings.device < 0 {
		return t, nil
	}
	device := t.Device(a.settings.device)
	if device == nil {
		return nil, command.Usage(
			fmt.Sprintf("%s has no device %d", t.Info.Path, a.settings.device), "leave --device out to see all",
		)
	}
	narrowed := *t
	narrowed.Devices = []trace.Device{*device}
	for _, s := range analysis.Shortages(t) {
		if s.Device != device.ID {
			narrowed.Notices = append(slices.Clip(narrowed.Notices), s.String()+".")
		}
	}
	return &narrowed, nil
}

func (a *app) printJSON(value any) error {
	encoder := json.NewEncoder(a.stdout.JSON())
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// pipeWidth is how wide text is printed where there is no terminal.
const pipeWidth = 100

func (a *app) width() int {
	if w, _, err := term.GetSize(a.stdout.Fd()); err == nil && w > 0 {
		return w
	}
	return pipeWidth
}
