package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots"
)

// completeWithin is the longest time that the shell waits. Processes that have
// not answered by then are offered all the same.
const completeWithin = time.Second

// complete lets the shell complete a flag's values.
func complete(cmd *cobra.Command, flag string, values []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic("memtop: " + err.Error())
	}
}

// completeArguments lets the shell complete what a command's usage line names:
// snapshots of a folder, processes that can be attached to, and their settings.
func completeArguments(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	use := cmd.Use + " "
	switch more := strings.Contains(use, "..."); {
	case len(args) > 0 && strings.Contains(use, "KEY=VALUE"):
		return completeSetting(ctx, args[0], begun)
	case len(args) > 0 && !more && !strings.Contains(use, "[AFTER]"):
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	if len(args) == 0 && (strings.Contains(use, "PID") || !cmd.HasParent()) {
		found = completeProcess(ctx)
	}
	if strings.Contains(use, "FILE") || strings.Contains(use, "BEFORE") || !cmd.HasParent() {
		files, directive := completeSnapshot(begun)
		return append(found, files...), directive
	}
	return found, cobra.ShellCompDirectiveDefault // a socket is a file
}

// completeProcess returns the pids of processes, with their commands.
func completeProcess(ctx context.Context) (pids []string) {
	processes, _ := attach.Discover(ctx) // the shell has no place for an error
	for _, p := range processes {
		if p.PID > 0 {
			pids = append(pids, cobra.CompletionWithDesc(strconv.Itoa(p.PID), p.Command))
		}
	}
	return pids
}

// completeSnapshot returns the folders and the snapshots that a path may become. If
// there are none, the shell offers all files: a snapshot may have any name.
func completeSnapshot(begun string) (found []string, directive cobra.ShellCompDirective) {
	folder, name := filepath.Split(begun)
	entries, _ := os.ReadDir(filepath.Clean(folder + ".")) // as above
	directive = cobra.ShellCompDirectiveNoFileComp
	for _, e := range entries[:min(len(entries), mostEntries)] {
		switch hidden := strings.HasPrefix(e.Name(), ".") && name == ""; {
		case !strings.HasPrefix(e.Name(), name), hidden:
		case e.IsDir():
			found = append(found, folder+e.Name()+"/")
			directive |= cobra.ShellCompDirectiveNoSpace
		case snapshots.IsSnapshotName(e.Name()):
			found = append(found, folder+e.Name())
		}
	}
	if len(found) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return found, directive
}

// completeSetting returns the settings that a process takes, and the values of the
// one that is begun.
func completeSetting(ctx context.Context, target, begun string) (found []string, directive cobra.ShellCompDirective) {
	c, err := attach.Dial(ctx, target, attach.DialOptions{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer func() { _ = c.Close() }() // it was only asked
	key, _, whole := strings.Cut(begun, "=")
	for _, o := range c.Trace().Live.Options {
		switch {
		case !whole:
			found = append(found, cobra.CompletionWithDesc(o.Key+"=", o.About))
		case o.Key == key:
			for _, choice := range o.Choices {
				found = append(found, key+"="+choice)
			}
		}
	}
	if whole {
		return found, cobra.ShellCompDirectiveNoFileComp
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
