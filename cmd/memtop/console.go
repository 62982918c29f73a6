package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/charmbracelet/x/term"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/output"
)

// console is the output of commands: standard output, standard error and the log,
// according to the settings.
type console struct {
	stdout, stderr *command.Output
	log            *slog.Logger
	logFile        *os.File // nil without --log
	settings       *settings
}

// openLog opens the log that --log names.
func (c *console) openLog() error {
	if c.settings.log == "" {
		return nil
	}
	f, err := os.OpenFile(c.settings.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	c.logFile = f
	c.log = slog.New(slog.NewTextHandler(f, nil))
	return nil
}

// printed is the answer of a command, as text for people or as JSON.
type printed interface {
	Text(w io.Writer, width int) error
}

// print prints an answer in the requested form.
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

// pipeWidth is the width of text if the output is not a terminal.
const pipeWidth = 100

func (c *console) width() int {
	if w, _, err := term.GetSize(c.stdout.Fd()); err == nil && w > 0 {
		return w
	}
	return pipeWidth
}

// note prints a line beside the answer.
func (c *console) note(line string) { fmt.Fprintln(c.stderr, "memtop: "+line) }

// tell prints failures that do not end the command.
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
