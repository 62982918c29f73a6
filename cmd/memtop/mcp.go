package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/memtop/assistant"
)

func (a *app) mcpCommand() *cobra.Command {
	o := assistant.Options{Version: command.Release()}
	cmd := &cobra.Command{
		Use:   "mcp FOLDER",
		Short: "Answer an assistant's questions about the snapshots of a folder",
		Long: `Serve the Model Context Protocol on standard input and output, for an assistant that
starts memtop itself: report, lines, advise, diff and replay of the snapshots in FOLDER.
Nothing outside of FOLDER is read, answers are bounded, and no code of a file is run.

With --rehearse the assistant may also run commands in FOLDER, over an imitated GPU, with
your rights.`,
		Example: `  memtop mcp ~/snapshots
  claude mcp add memtop -- memtop mcp ~/snapshots`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(cmd, "it needs one folder")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Folder = args[0]
			return assistant.Serve(cmd.Context(), os.Stdin, os.Stdout, o)
		},
	}
	cmd.Flags().BoolVar(&o.Rehearse, "rehearse", false, "let the assistant run commands in FOLDER over an imitated GPU")
	return cmd
}
