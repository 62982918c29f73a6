package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
)

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
