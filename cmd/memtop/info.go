package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"text/tabwriter"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/trace"
)

func (a *app) infoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "info",
		Short: "Print the paths and the environment in force",
		Args:  files(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.info(cmd.Context(), cmd.Root()) },
	}
}

func (c *console) info(ctx context.Context, root *cobra.Command) error {
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	row := func(name, format string, values ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, trace.Printable(fmt.Sprintf(format, values...)))
	}
	row("version", "%s, commit %s", command.Release(), command.Commit())
	row("built with", "%s for %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	row("configuration", "%s", present(configPath()))
	row("cache", "%s", present(cachePath()))
	row("sockets", "%s", present(protocol.Folder()))
	row("agent", "%s", agentText())
	row("black boxes", "%s", blackBoxText())
	for _, text := range boxless(ctx) {
		row("without a box", "%s", text)
	}
	row("out of memory", "%s", present(protocol.DeadFolder()))
	row("memory bound", "%d MiB and %d bytes for each byte of a file, unpacked, at most %d MiB (--max-memory)",
		trace.DefaultBound.Least>>20, trace.DefaultBound.PerByte, snapshots.MostMemory()>>20)
	row("processors", "%d", runtime.GOMAXPROCS(0))
	row("reads", "pickle, JSON, trace_plot HTML; each also under gzip or zstd; recordings")
	row("writes", "%s", formats())
	row("terminal", "%s", terminalText(c.stdout))
	for _, name := range variables(root) {
		if value, set := os.LookupEnv(name); set {
			row(name, "%s", value)
		}
	}
	return w.Flush()
}

// present marks a path that does not exist.
func present(path string) string {
	if path == "" {
		return "none: the home folder is not known"
	}
	if _, err := os.Stat(path); err != nil {
		return path + " (not there)"
	}
	return path
}

// cachePath returns the cache folder, whose content can be made again.
func cachePath() string {
	folder, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "memtop")
}

func terminalText(out *command.Output) string {
	if !isTerminal(out) {
		return "standard output is not a terminal"
	}
	w, h, err := term.GetSize(out.Fd())
	if err != nil {
		return "of unknown size"
	}
	return fmt.Sprintf("%d×%d, TERM=%s", w, h, os.Getenv("TERM"))
}

// variables returns the environment variables that memtop reads: those of flags, and others.
func variables(root *cobra.Command) []string {
	names := []string{
		"MEMTOP_DIR", "MEMTOP_SSH", protocol.BlackBoxVariable, "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
		"NO_COLOR", "CLICOLOR_FORCE", "COLORTERM", "GOMEMLIMIT", "LC_ALL", "LC_CTYPE", "LANG",
	}
	for _, f := range settableFlags(root) {
		names = append(names, variableOf(f))
	}
	slices.Sort(names)
	return names
}

// settableFlags returns the flags of all commands that the environment and the
// configuration file can set, by name.
func settableFlags(root *cobra.Command) map[string]*pflag.Flag {
	all := make(map[string]*pflag.Flag)
	for _, c := range root.Commands() {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if variableOf(f) != "" {
				all[f.Name] = f
			}
		})
	}
	return all
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, as --version does",
		Args:  cobra.MatchAll(files(0, 0)),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.stdout, command.Version("memtop"))
			return err
		},
	}
}
