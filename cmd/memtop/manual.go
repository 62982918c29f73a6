package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/memtop/manual"
)

// manualCommand returns the command for people who make packages; users have man
// and Tab.
func (a *app) manualCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "manual FOLDER",
		Short: "Write the manual pages and the completions of shells into a new folder",
		Long: `Write the manual pages (man1) and the completions of shells (completions) into a new
folder: what a package of memtop installs beside it.`,
		Hidden: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(cmd, "it needs one folder, which it makes")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return writeManual(cmd.Root(), args[0]) },
	}
}

func writeManual(root *cobra.Command, folder string) error {
	if err := os.Mkdir(folder, 0o755); errors.Is(err, fs.ErrExist) {
		return command.Usage(folder+" exists", "the name of a new folder")
	} else if err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	pages := filepath.Join(folder, "man1")
	if err := os.Mkdir(pages, 0o755); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	root.Long = about + "\n\n" + command.SizeUnits // the exit codes have a section of their own
	if err := manual.Write(pages, command.Release(), root, manualSections(root)...); err != nil {
		return err
	}
	return writeCompletions(root, filepath.Join(folder, "completions"))
}

// manualSections returns the sections of the manual that belong to no single
// command.
func manualSections(root *cobra.Command) []manual.Section {
	return []manual.Section{
		{Title: "EXIT STATUS", Text: "  " + strings.ReplaceAll(command.ExitCodes(), "\n", "\n  ")},
		{Title: "ENVIRONMENT", Text: `Some flags can be set by a variable, over which the flag itself wins: MEMTOP_THEME is
what --theme says. memtop reads these variables, and memtop info prints those that are set:

  ` + strings.Join(variables(root), "\n  ") + `

NO_COLOR and CLICOLOR_FORCE turn colours off and on where --color says nothing.

XDG_CONFIG_HOME, XDG_CACHE_HOME, XDG_STATE_HOME and XDG_RUNTIME_DIR say where the files
below are.`},
		{Title: "FILES", Text: `memtop info prints the paths in force. By default:

  ~/.config/memtop/config.toml: the settings; memtop config --default prints one
  ~/.cache/memtop: what can be made again
  $XDG_RUNTIME_DIR/memtop: the sockets of programs that can be attached to`},
	}
}

// writeCompletions writes a file for each shell, under the name that the shell looks for.
func writeCompletions(root *cobra.Command, folder string) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	for name, write := range map[string]func(io.Writer) error{
		"memtop":      func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"_memtop":     root.GenZshCompletion,
		"memtop.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
	} {
		f, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return fmt.Errorf("writing the completions: %w", err)
		}
		if err := errors.Join(write(f), f.Close()); err != nil {
			return fmt.Errorf("writing the completions: %w", err)
		}
	}
	return nil
}
