package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/charmbracelet/x/term"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/output"
)

// console is what commands print on: standard output and standard error.
type console struct {
	stdout, stderr *command.Output
	settings       *settings
}

// printed is what a command answers, as text for people or as JSON.
type printed interface {
	Text(w io.Writer, width int) error
}

// print prints an answer in the form that was asked for.
func (c *console) print(answer printed) error {
	if c.settings.json {
		return c.printJSON(answer)
	}
	return answer.Text(c.stdout, c.width())
}

func (c *console) printJSON(value any) error {
	encoder := json.NewEncoder(c.stdout.JSON())
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// pipeWidth is how wide text is printed where there is no terminal.
const pipeWidth = 100

func (c *console) width() int {
	if w, _, err := term.GetSize(c.stdout.Fd()); err == nil && w > 0 {
		return w
	}
	return pipeWidth
}

// note prints a line beside the answer.
func (c *console) note(line string) { fmt.Fprintln(c.stderr, "memtop: "+line) }

// tell prints what is wrong, and is not the end of the command.
func (c *console) tell(failed []error) {
	for _, err := range failed {
		_, line := describe(err)
		c.note(line)
	}
}

// write writes to a file, or to standard output.
func (c *console) write(to output.File, write func(io.Writer) error) error {
	if to.Path == standardOutput {
		return write(c.stdout.Raw())
	}
	return to.Write(write)
}

// interactive reports whether there is a screen to ask on.
func (c *console) interactive() bool {
	return !c.settings.once && !c.settings.json && isTerminal(c.stdout)
}
