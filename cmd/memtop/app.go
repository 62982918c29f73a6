package main

import (
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/remote"
)

// app joins the parts that commands share. The goroutine that executes the
// command owns it, except for the display.
type app struct {
	*console
	*dialer
	*screen
	files  *loader
	viewer *viewer
}

func newApp(stdout, stderr io.Writer) *app {
	c := &console{
		stdout: command.NewOutput(stdout), stderr: command.NewOutput(stderr),
		log: slog.New(slog.DiscardHandler), settings: &settings{interval: interval(defaultInterval)},
	}
	s := &screen{console: c}
	d := &dialer{console: c, machines: &remote.Machines{MayAsk: s.mayAsk, Log: func() *slog.Logger { return c.log }}}
	files := &loader{dialer: d, answers: make(map[string]answer)}
	return &app{c, d, s, files, &viewer{c, files, s}}
}

func (a *app) close() {
	a.machines.Close()
	if a.logFile != nil {
		_ = a.logFile.Close() // the failure can be reported nowhere
	}
}

// about says what memtop is for.
const about = `memtop shows what holds GPU memory, in the terminal of the machine you are on.

It attaches to running programs: PyTorch jobs, memtrain, and Go programs with a
probe. It also reads the memory snapshots that PyTorch writes with
torch.cuda.memory._dump_snapshot(): pickles of any protocol, gzip, zstd, JSON,
and the HTML pages of trace_plot. It never runs code from a file.`

// root returns the command line.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "memtop",
		Short: "What is holding my GPU memory, and what would make it less?",
		Long:  about + "\n\n" + command.SizeUnits + "\n\nExit codes:\n  " + strings.ReplaceAll(command.ExitCodes(), "\n", "\n  "),
		Example: `  memtop demo
  memtop attach
  memtop open snapshot.pickle
  memtop report snapshot.pickle
  memtop diff before.pickle after.pickle`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Version:           command.Version("memtop"),
		Args:              cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 { // after a flag
				return unknownCommand(cmd, args)
			}
			return a.here(cmd.Context())
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.prepare(cmd) },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, command.FlagCause(err)) })
	root.AddCommand(
		a.demoCommand(), a.runCommand(), a.rehearseCommand(), a.attachCommand(), a.lsCommand(), a.recordCommand(), a.snapshotCommand(), a.setCommand(), a.adviseCommand(), a.metricsCommand(),
		a.conformanceCommand(), a.bridgeCommand(),
		a.openCommand(), a.reportCommand(), a.diffCommand(), a.checkCommand(), a.replayCommand(), a.exportCommand(), a.estimateCommand(),
		a.mcpCommand(), a.infoCommand(), a.versionCommand(),
	)
	root.ValidArgsFunction = completeArguments
	for _, c := range root.Commands() {
		a.settings.logFlag(c.Flags())
		if !c.DisableFlagParsing && c.ValidArgsFunction == nil {
			c.ValidArgsFunction = completeArguments
		}
	}
	return root
}

// prepare fills in the settings without a flag, and checks all of them.
func (a *app) prepare(cmd *cobra.Command) error {
	if err := fill(cmd); err != nil {
		return err
	}
	if err := a.settings.check(cmd); err != nil {
		return err
	}
	a.machines.Memtop = a.settings.remoteMemtop
	if err := a.openLog(); err != nil {
		return err
	}
	a.log.Info("start", "command", cmd.CommandPath(), "version", command.Release(), "commit", command.Commit())
	return nil
}
