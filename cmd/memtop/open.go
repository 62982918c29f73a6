package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/engine/replay"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui"
)

func (a *app) openCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "open FILE|FOLDER...",
		Short: "Look at snapshots",
		Long: `Show one or more snapshots. [ and ] switch between them, 6 v compares two, ? lists all
keys. If the names of files say that they are the ranks of one job, such as rank0.pickle
and rank1.pickle, memtop starts with all ranks in rows (page 9); recordings carry their
rank. A folder stands for the snapshots in it, or in the last of its folders, such as
iteration_20. FILE may be - for standard input. If standard output is not a terminal, memtop
prints the report.`,
		Args: files(1, -1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			paths, err := a.ofFolders(paths)
			if err != nil {
				return err
			}
			for _, path := range paths {
				if snapshots.IsAnswer(path) {
					_, err := a.files.load(cmd.Context(), path, nil) // it says what does read it
					return err
				}
			}
			if a.settings.once || !isTerminal(a.stdout) {
				return a.files.reports(cmd.Context(), paths, false)
			}
			return a.viewer.showFiles(cmd.Context(), paths)
		},
	}
	a.settings.readFlags(cmd.Flags())
	a.settings.deviceFlag(cmd.Flags())
	a.settings.screenFlags(cmd)
	return cmd
}

// ofFolders returns paths with the snapshots of a folder in its place.
func (c *console) ofFolders(paths []string) (all []string, err error) {
	for _, path := range paths {
		folders, err := snapshots.Folders(path)
		last := len(folders) - 1
		switch {
		case err != nil:
			return nil, err
		case last < 0: // what opens it says why it cannot
			all = append(all, path)
			continue
		case last > 0:
			c.note(fmt.Sprintf("%s is the last of %d folders with snapshots in %s; name another to see that, or compare two files with memtop diff",
				folders[last].Path, len(folders), path))
		}
		all = append(all, folders[last].Files...)
	}
	return all, nil
}

// files returns a check for low to high paths; -1 means any number. Standard
// input can be read once.
func files(low, high int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, paths []string) error {
		switch {
		case len(paths) < low && low == 1:
			return usage(cmd, "it needs a file")
		case len(paths) < low:
			return usage(cmd, fmt.Sprintf("it needs %d files, not %d", low, len(paths)))
		case high >= 0 && len(paths) > high:
			return usage(cmd, fmt.Sprintf("%q is one argument too many", paths[high]))
		}
		standardInputs := 0
		for _, path := range paths {
			if path == snapshots.StandardInput {
				standardInputs++
			}
		}
		switch {
		case standardInputs > 1:
			return usage(cmd, "standard input can be read only once")
		case standardInputs == 1 && isTerminal(os.Stdin):
			return command.Usage("standard input is the terminal", cmd.CommandPath()+" - < snapshot.pickle")
		}
		return nil
	}
}

func isTerminal(f interface{ Fd() uintptr }) bool { return term.IsTerminal(f.Fd()) }

// screen shows pages on the terminal.
type screen struct {
	*console
	display atomic.Pointer[display] // nil while nothing is shown
}

// showFiles shows files until the user quits. A missing file is reported at
// once; if the only file turns out to be damaged, the exit code says so too.
func (v *viewer) showFiles(ctx context.Context, paths []string) error {
	var files []tui.File
	var failed error // of the last load; written by one command at a time
	sources := ranks.Files(paths, snapshots.RankOf)
	for i := range sources {
		paths[i] = sources[i].Path // by rank
	}
	for _, path := range paths {
		if err := readable(path); err != nil {
			return err
		}
		load := func(ctx context.Context, progress trace.Progress) (trace.Source, error) {
			source, err := v.load(ctx, path, progress)
			if len(paths) == 1 {
				failed = err
			}
			return source, err
		}
		files = append(files, tui.File{Name: path, Load: load})
	}
	w, stop := newWriters(ctx, paths...)
	defer stop()
	o := v.screenOptions(w)
	if sources != nil {
		rows, ended := v.rowsOfFiles(ctx, sources)
		defer ended()
		o.Ranks = rows
	}
	if err := v.show(ctx, tui.New(files, o)); err != nil {
		return err
	}
	if failed != nil && !errors.Is(failed, context.Canceled) {
		return failed
	}
	return nil
}

func (s *screen) screenOptions(w *writers) tui.Options {
	return tui.Options{
		Page: s.settings.page, Device: s.settings.device, Color: s.settings.color, Theme: s.settings.theme,
		ASCII: s.settings.ascii, NoMouse: s.settings.noMouse,
		Export: w.export, Save: w.save, WhatIf: replay.Answer,
		Interval: time.Duration(s.settings.interval),
	}
}

// mayAsk reports whether ssh may ask the user for a password: there is a terminal, and
// no screen on it.
func (s *screen) mayAsk() bool { return s.display.Load() == nil && isTerminal(s.stderr) }

// show runs the screen, which restores the terminal however it ends. If it
// panics, the stack goes to the log instead of the user's screen.
func (s *screen) show(ctx context.Context, model tea.Model) error {
	if err := s.divertStacks(); err != nil {
		return err
	}
	ctx, input, err := watchKeyboard(ctx)
	if err != nil {
		return err
	}
	d, err := newDisplay(input.File, s.stdout.Raw())
	if err != nil {
		return err
	}
	s.display.Store(d)
	defer s.display.Store(nil)
	options := append(s.programOptions(), tea.WithContext(ctx), tea.WithInput(input))
	switch _, err = tea.NewProgram(model, options...).Run(); {
	case errors.Is(err, tea.ErrProgramPanic):
		<-time.After(patience) // for the goroutine that panicked: it writes its stack only now
		return command.BugError{Program: "memtop", Value: "the screen failed"}
	case errors.Is(err, tea.ErrInterrupted):
		return command.Ended{Signal: syscall.SIGINT}
	}
	return command.Because(ctx, err)
}

// watchKeyboard returns the keyboard's input, and a context. The context is
// cancelled as by a hangup when the input ends.
func watchKeyboard(parent context.Context) (context.Context, tui.Keyboard, error) {
	ctx, cancel := context.WithCancelCause(parent)
	input := os.Stdin
	if !isTerminal(input) {
		var err error
		if input, _, err = tea.OpenTTY(); err != nil {
			cancel(err)
			return ctx, tui.Keyboard{}, err
		}
	}
	return ctx, tui.NewKeyboard(input, func() { cancel(command.Ended{Signal: syscall.SIGHUP}) }), nil
}

// divertStacks sends the output of Bubble Tea about a panic to the log. It is
// never undone, because Bubble Tea may print after the screen has ended. memtop's
// own messages go to the app's stderr.
func (s *screen) divertStacks() (err error) {
	os.Stderr = s.logFile
	if os.Stderr == nil {
		os.Stderr, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return err
}

// readable returns why a file cannot be opened.
func readable(path string) error {
	if path == snapshots.StandardInput {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// framesPerSecond is how often the screen checks whether there is something new
// to draw. Twice the rate doubles the processor time of a screen that does not
// change.
const framesPerSecond = 30

// programOptions returns the options of all screens. Signals are handled in the
// same way for all commands.
func (s *screen) programOptions() []tea.ProgramOption {
	options := []tea.ProgramOption{tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond)}
	switch s.settings.color {
	case "always":
		options = append(options, tea.WithColorProfile(colorprofile.TrueColor))
	case "never":
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	if s.logFile != nil {
		options = append(options, tea.WithFilter(func(_ tea.Model, msg tea.Msg) tea.Msg {
			s.logMessage(msg)
			return msg
		}))
	}
	return options
}

// logMessage logs a message to the screen. It logs the user's input in full, and
// only the kind of other messages.
func (s *screen) logMessage(msg tea.Msg) {
	kind := slog.String("type", fmt.Sprintf("%T", msg))
	switch msg := msg.(type) {
	case tea.KeyMsg, tea.MouseMsg, tea.WindowSizeMsg:
		s.log.Info("message", kind, "value", fmt.Sprint(msg))
	default:
		s.log.Info("message", kind)
	}
}
