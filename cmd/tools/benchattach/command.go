package main

import (
	"os"
	"os/exec"
	"strings"
)

// command is a viewer of the caller's, such as memtop itself in a terminal. It
// is started and killed; the steps that are not counted are its time to attach.
type command struct {
	line    string
	running *exec.Cmd // nil when it is not
}

// socketMark stands for the socket in a command line.
const socketMark = "{}"

func newCommand(line, socket string) *command {
	return &command{line: "exec " + strings.ReplaceAll(line, socketMark, socket)}
}

func (c *command) watch(on bool) error {
	if on == (c.running != nil) {
		return nil
	}
	if !on {
		c.close()
		return nil
	}
	c.running = exec.Command("sh", "-c", c.line)
	c.running.Stderr = os.Stderr
	return c.running.Start()
}

func (c *command) close() {
	if c.running != nil {
		_ = c.running.Process.Kill() // it may have ended by itself
		_ = c.running.Wait()         // it was killed
		c.running = nil
	}
}
