package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/tui"
)

// settings holds the flags that mean the same in every command that has them. The
// environment and the configuration file can set those that are settable. The order
// of precedence is: flag, MEMTOP_NAME, config.toml, the terminal's needs, the
// default.
type settings struct {
	json      bool
	once      bool
	page      string
	device    int
	color     string
	theme     string
	ascii     bool
	noMouse   bool
	maxMemory command.Size
	log       string
	interval  interval
	readOnly  bool
	inject    string

	remoteMemtop string
}

// pages are the names that --page takes.
var pages = tui.Pages()

var colors = []string{"auto", "always", "never"}

var themes, _ = tui.Themes()

// settable marks flags that the environment and the configuration file can set too.
func settable(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		variable := "MEMTOP_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		_ = f.SetAnnotation(name, settableMark, []string{variable}) // the flag is there
	}
}

const settableMark = "variable"

// variableOf returns the environment variable that sets a flag, "" for none.
func variableOf(f *pflag.Flag) string { return strings.Join(f.Annotations[settableMark], "") }

// readFlags adds the flags of commands that read a file.
func (s *settings) readFlags(f *pflag.FlagSet) {
	f.Var(&s.maxMemory, "max-memory", "most memory for a file, such as 4GiB (default: see memtop info)")
	settable(f, "max-memory")
}

func (s *settings) logFlag(f *pflag.FlagSet) {
	f.StringVar(&s.log, "log", "", "append a log of what memtop does to this `FILE`")
	settable(f, "log")
}

func (s *settings) intervalFlag(f *pflag.FlagSet) {
	f.Var(&s.interval, "interval", "how often to look, 50ms to 1m")
	settable(f, "interval")
}

func (s *settings) readOnlyFlag(f *pflag.FlagSet) {
	f.BoolVar(&s.readOnly, "read-only", false, "disable the keys that change the process")
	settable(f, "read-only")
}

func (s *settings) jsonFlag(f *pflag.FlagSet) {
	f.BoolVar(&s.json, "json", false, "print JSON, with sizes in bytes")
	settable(f, "json")
}

func (s *settings) deviceFlag(f *pflag.FlagSet) {
	f.IntVar(&s.device, "device", -1, "device `N` only (default: the one out of memory, else with most events)")
	settable(f, "device")
}

// screenFlags adds the flags of commands that draw.
func (s *settings) screenFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVarP(&s.once, "once", "1", false, "print the report and exit")
	f.StringVar(&s.page, "page", "", "first page (default ranks for a job, else overview): "+strings.Join(pages, ", "))
	f.StringVar(&s.color, "color", "auto", "use colours: "+strings.Join(colors, ", "))
	f.StringVar(&s.theme, "theme", themes[0], "colours: "+strings.Join(themes, ", "))
	f.BoolVar(&s.ascii, "ascii", false, "draw with ASCII characters only (default: as TERM and the locale need it)")
	f.BoolVar(&s.noMouse, "no-mouse", false, "do not use the mouse (default: as TERM needs it)")
	settable(f, "page", "color", "theme", "ascii", "no-mouse")
	complete(cmd, "page", pages)
	complete(cmd, "color", colors)
	complete(cmd, "theme", themes)
}

// fill sets flags that are not on the command line: from the environment, else
// from the configuration file.
func fill(cmd *cobra.Command) error {
	config, err := readConfig(configPath())
	if err != nil {
		return err
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		variable := variableOf(f)
		if err != nil || f.Changed || variable == "" {
			return
		}
		if value := os.Getenv(variable); value != "" {
			err = set(cmd, f, value, variable)
		} else if value, ok := config[f.Name]; ok {
			err = set(cmd, f, value, configPath())
		} else if value := plainDefault(f.Name); value != "" {
			err = set(cmd, f, value, "TERM")
		}
	})
	return err
}

func set(cmd *cobra.Command, f *pflag.Flag, value, from string) error {
	if err := cmd.Flags().Set(f.Name, value); err != nil {
		return command.Usage(
			fmt.Sprintf("%s: %q is not a value for %s", from, value, f.Name), cmd.CommandPath()+" --help",
		)
	}
	return nil
}

// check refuses invalid values that the flags' types accept.
func (s *settings) check(cmd *cobra.Command) error {
	if s.page != "" && !slices.Contains(pages, s.page) {
		return usage(cmd, fmt.Sprintf("there is no page %q for a file, only %s", s.page, strings.Join(pages, ", ")))
	}
	for _, flag := range []struct {
		name, value string
		allowed     []string
	}{{"color", s.color, colors}, {"theme", s.theme, themes}, {"inject", s.inject, injections}} {
		if flag.value != "" && !slices.Contains(flag.allowed, flag.value) {
			return usage(cmd, fmt.Sprintf("--%s is %s, not %q", flag.name, strings.Join(flag.allowed, ", "), flag.value))
		}
	}
	return nil
}
