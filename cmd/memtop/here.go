package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/remote"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// here prints what memtop can do in this folder and on this machine now: a command
// for the files, the running programs, the ended programs, and a script that has not
// run yet. A command that has something to look at names it.
func (a *app) here(ctx context.Context) error {
	l := &lister{a.files}
	ended, err := l.ended(ctx)
	if err != nil {
		return err
	}
	processes, err := attach.Discover(ctx)
	if err != nil {
		return err
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		snapshotsHere(os.DirFS("."), time.Now()),
		runningHere(processes, l.bare(ctx, processes)),
		endedHere(ended, time.Now()),
		{"memtop rehearse -- python train.py", "does it fit, to the byte, without a GPU"},
		{"memtop help", "all commands; memtop demo needs nothing"},
	} {
		fmt.Fprintf(w, "%s\t%s\n", trace.Printable(row[0]), trace.Printable(row[1]))
	}
	_ = w.Flush() // a builder does not fail
	return l.writeLines(text.String())
}

// mostEntries bounds how much of a folder is looked at.
const mostEntries = 10_000

// snapshotsHere returns the command for the newest snapshot in a folder.
func snapshotsHere(folder fs.FS, now time.Time) [2]string {
	entries, _ := fs.ReadDir(folder, ".") // a folder that cannot be read has no files to offer
	var newest fs.FileInfo
	found := 0
	for _, e := range entries[:min(len(entries), mostEntries)] {
		if !e.Type().IsRegular() || !snapshots.IsSnapshotName(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // gone since
		}
		if found++; newest == nil || info.ModTime().After(newest.ModTime()) {
			newest = info
		}
	}
	if newest == nil {
		return [2]string{"memtop open FILE", "a PyTorch snapshot; this folder has none"}
	}
	what := fmt.Sprintf("%s, %s old", quantity.Bytes(newest.Size()), ago(now.Sub(newest.ModTime())))
	if found > 1 {
		what += fmt.Sprintf(", the newest of %d files here", found)
	}
	return [2]string{"memtop open " + remote.Word(newest.Name()), what}
}

// runningHere returns the command for the running programs: those that can be
// attached to, and those without an agent.
func runningHere(all, bare []attach.Process) [2]string {
	good, _ := attach.Attachable(attach.Choices(all))
	count := len(good) + len(bare)
	for _, p := range append(good, bare...) {
		what := brief(p.Command)
		if count > 1 {
			what = fmt.Sprintf("one of %d programs, see memtop ls: %s", count, what)
		}
		return [2]string{"memtop attach " + remote.Word(p.Target()), what}
	}
	return [2]string{"memtop run -- python train.py", "starts a job to attach to; none runs now"}
}

// endedHere returns the command for the ended programs, the newest first.
func endedHere(rows []attach.Dead, now time.Time) [2]string {
	rows = slices.DeleteFunc(slices.Clone(rows), func(d attach.Dead) bool { return d.Problem != "" })
	if len(rows) == 0 {
		return [2]string{"memtop ls --dead", "jobs that were killed or ran out: none left"}
	}
	d := rows[0]
	what := fmt.Sprintf("%s, %s ago: %s", d.Ended, ago(now.Sub(time.UnixMicro(d.Time))), brief(d.Command))
	return [2]string{"memtop ls --dead", what}
}

// ago writes a duration in its largest unit.
func ago(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "days"}, {time.Hour, "hours"}, {time.Minute, "minutes"}} {
		if n := int64(d / unit.of); n >= 2 {
			return fmt.Sprintf("%d %s", n, unit.name)
		}
	}
	return fmt.Sprintf("%d seconds", max(int64(d/time.Second), 0))
}

// writeLines prints lines; on a terminal, none is longer than it.
func (c *console) writeLines(text string) error {
	for line := range strings.Lines(text) {
		if isTerminal(c.stdout) {
			line = ansi.Truncate(strings.TrimRight(line, "\n"), c.width(), "…") + "\n"
		}
		if _, err := c.stdout.Write([]byte(line)); err != nil {
			return err
		}
	}
	return nil
}

// meant returns the arguments with the command that the user left out: open before a
// file, attach before a process. The error says why there is none.
func meant(root *cobra.Command, args []string) ([]string, error) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return args, nil
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	if found, _, err := root.Find(args); err != nil || found != root || strings.HasPrefix(args[0], "__") {
		return args, nil // __complete, which completions ask, is added later
	}
	info, err := os.Stat(args[0])
	switch {
	case isScript(args[0]):
	case err == nil && info.Mode()&fs.ModeSocket != 0, err != nil && isProcess(args[0]):
		return append([]string{"attach"}, args...), nil
	case err == nil && !info.IsDir():
		return append([]string{"open"}, args...), nil
	}
	return nil, unknownCommand(root, args)
}

// isProcess reports whether a word is a pid, on this machine or on another one.
func isProcess(word string) bool {
	_, process, _ := remote.Split(word)
	_, err := strconv.ParseUint(process, 10, 31)
	return err == nil
}

func isScript(name string) bool {
	return strings.HasSuffix(name, ".py") || strings.HasSuffix(name, ".sh")
}

// unknownCommand returns an error that says what the user may have meant.
func unknownCommand(root *cobra.Command, args []string) error {
	name := args[0]
	if isScript(name) {
		program := "python"
		if strings.HasSuffix(name, ".sh") {
			program = "bash"
		}
		for _, arg := range args {
			program += " " + remote.Word(arg)
		}
		return command.Usage(fmt.Sprintf("%q is a script, not a command", name),
			fmt.Sprintf("memtop run -- %s, or without a GPU: memtop rehearse -- %s", program, program))
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return command.Usage(fmt.Sprintf("%q is a folder", name), "memtop open FILE")
	}
	root.SuggestionsMinimumDistance = 2
	near := append(root.SuggestionsFor(name), "help")
	return command.Usage(fmt.Sprintf("there is no command and no file %q", name), "memtop "+near[0])
}
