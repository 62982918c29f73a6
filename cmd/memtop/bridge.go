package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/remote"
)

func (a *app) bridgeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "bridge",
		Short: "Connect a memtop on another machine to this machine's processes",
		Long: `Connect a memtop on another machine to the processes of this machine that this user
may attach to. memtop attach HOST:PID starts it through ssh and speaks HTTP/2 with it
over standard input and output. It listens on no port, and ends with its input.`,
		Args: files(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if isTerminal(os.Stdin) || isTerminal(a.stdout) {
				return command.Usage("a bridge is for another memtop, and not for a terminal", "memtop attach HOST:PID, on the other machine")
			}
			return remote.Serve(cmd.Context(), os.Stdin, a.stdout.Raw(), remote.Options{Gauge: a.gauges()})
		},
	}
}
