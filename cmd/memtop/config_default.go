package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memtop/memtop/snapshots/trace"
)

func (a *app) configCommand() *cobra.Command {
	var defaults bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the settings in force, or a configuration file with all settings",
		Long: `Print what the configuration file sets, and where it is. --default prints a file to
start from: every setting, its default and its meaning. A flag overrides the
environment (MEMTOP_NAME, see memtop info), and the environment overrides the file.`,
		Example: `  memtop config
  memtop config --default > ~/.config/memtop/config.toml`,
		Args: files(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if defaults {
				return a.printDefaults(cmd.Root())
			}
			return a.printConfig(cmd.Root())
		},
	}
	cmd.Flags().BoolVar(&defaults, "default", false, "print a configuration file with every setting and its default")
	return cmd
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

// printDefaults prints a configuration file in which every line is a comment, so
// that the file does not fix a default that changes later.
func (a *app) printDefaults(root *cobra.Command) error {
	all := settableFlags(root)
	fmt.Fprintf(a.stdout, "# Settings of memtop, at %s. A flag wins over the environment,\n# and that over this file.\n", configPath())
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		_, about := pflag.UnquoteUsage(f)
		if _, err := fmt.Fprintf(a.stdout, "\n# %s\n# %s = %s\n", about, strings.ReplaceAll(name, "-", "_"), tomlValue(f, f.DefValue)); err != nil {
			return err
		}
	}
	return nil
}

// printConfig prints what the configuration file sets.
func (a *app) printConfig(root *cobra.Command) error {
	config, err := readConfig(configPath())
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "# %s\n", trace.Printable(present(configPath())))
	all := settableFlags(root)
	for _, name := range slices.Sorted(maps.Keys(config)) {
		line := "# " + name + ": no command has this setting"
		if f := all[name]; f != nil {
			line = strings.ReplaceAll(name, "-", "_") + " = " + tomlValue(f, config[name])
		}
		if _, err := fmt.Fprintln(a.stdout, trace.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}

// tomlValue writes a flag's value as TOML has it.
func tomlValue(f *pflag.Flag, value string) string {
	switch f.Value.Type() {
	case "bool", "int":
		return value
	}
	return strconv.Quote(value)
}
