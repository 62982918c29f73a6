// Package manual writes the manual pages of a command line, one for each command,
// from the texts that its help has: a flag that is added is in the manual too. It
// knows the language of man and nothing of memtop.
package manual

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Section is a part of a page that no command says by itself.
type Section struct{ Title, Text string }

// Write writes a page of section 1 for root and for each command below it into a
// folder, which must exist. The sections end the page of root. release goes into the
// footer. No page depends on the time or the machine.
func Write(folder, release string, root *cobra.Command, sections ...Section) error {
	root.InitDefaultHelpFlag()
	root.InitDefaultVersionFlag()
	root.InitDefaultCompletionCmd()
	for _, c := range listed(root) {
		if err := writeTree(folder, release, c); err != nil {
			return err
		}
	}
	return writePage(folder, release, root, sections)
}

func writeTree(folder, release string, c *cobra.Command) error {
	for _, below := range listed(c) {
		if err := writeTree(folder, release, below); err != nil {
			return err
		}
	}
	return writePage(folder, release, c, nil)
}

// listed returns the commands that help names, but for help itself, which man is.
func listed(c *cobra.Command) (all []*cobra.Command) {
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			all = append(all, below)
		}
	}
	return all
}

func writePage(folder, release string, c *cobra.Command, sections []Section) error {
	c.InitDefaultHelpFlag()
	f, err := os.OpenFile(filepath.Join(folder, name(c)+".1"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("writing a manual page: %w", err)
	}
	p := page{bufio.NewWriter(f)}
	p.write(release, c, sections)
	if err := p.out.Flush(); err != nil {
		f.Close()
		return fmt.Errorf("writing a manual page: %w", err)
	}
	return f.Close()
}

// name is what man finds a command's page by: memtop-config for memtop config.
func name(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// page is a manual page that is being written. Its writer keeps the error.
type page struct{ out *bufio.Writer }

func (p page) write(release string, c *cobra.Command, sections []Section) {
	fmt.Fprintf(p.out, ".TH \"%s\" \"1\" \"\" \"%s %s\" \"%[2]s manual\"\n", escaped(strings.ToUpper(name(c))), escaped(c.Root().Name()), escaped(release))
	fmt.Fprintf(p.out, ".nh\n.ad l\n.SH NAME\n%s \\- %s\n", escaped(name(c)), escaped(c.Short))
	fmt.Fprintf(p.out, ".SH SYNOPSIS\n.B %s\n", escaped(c.CommandPath()))
	_, arguments, _ := strings.Cut(c.UseLine(), c.CommandPath()+" ")
	if len(listed(c)) > 0 {
		arguments = "COMMAND " + arguments
	}
	fmt.Fprintln(p.out, line(arguments))
	fmt.Fprintln(p.out, ".SH DESCRIPTION")
	if c.Long != "" {
		p.text(c.Long)
	} else {
		fmt.Fprintln(p.out, line(c.Short+"."))
	}
	p.commands(c)
	p.flags(c)
	if c.Example != "" {
		fmt.Fprintln(p.out, ".SH EXAMPLES")
		p.text(c.Example)
	}
	for _, s := range sections {
		fmt.Fprintf(p.out, ".SH %s\n", escaped(s.Title))
		p.text(s.Text)
	}
	p.seeAlso(c)
}

func (p page) commands(c *cobra.Command) {
	if len(listed(c)) == 0 {
		return
	}
	fmt.Fprintln(p.out, ".SH COMMANDS")
	for _, below := range listed(c) {
		fmt.Fprintf(p.out, ".TP\n.B %s\n%s\n", escaped(below.Name()), line(below.Short))
	}
}

func (p page) flags(c *cobra.Command) {
	fmt.Fprintln(p.out, ".SH OPTIONS")
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		fmt.Fprint(p.out, ".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(p.out, "\\fB\\-%s\\fR, ", escaped(f.Shorthand))
		}
		fmt.Fprintf(p.out, "\\fB\\-\\-%s\\fR", escaped(f.Name))
		value, usage := pflag.UnquoteUsage(f)
		if value != "" {
			fmt.Fprintf(p.out, " \\fI%s\\fR", escaped(value))
		}
		fmt.Fprintf(p.out, "\n%s\n", line(usage+inUse(f)))
	})
}

// inUse says what a flag is when it is not given, if that is something and is not said.
func inUse(f *pflag.Flag) string {
	if strings.Contains(f.Usage, "(default") {
		return ""
	}
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
		return ""
	}
	return " (default " + f.DefValue + ")"
}

func (p page) seeAlso(c *cobra.Command) {
	var others []string
	if c.HasParent() {
		others = append(others, reference(c.Parent()))
	}
	for _, below := range listed(c) {
		others = append(others, reference(below))
	}
	if len(others) > 0 {
		fmt.Fprintf(p.out, ".SH SEE ALSO\n%s\n", strings.Join(others, ",\n"))
	}
}

func reference(c *cobra.Command) string { return "\\fB" + escaped(name(c)) + "\\fR(1)" }
