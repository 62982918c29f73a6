package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	priority "github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
)

// interval is how often a viewer is told, 10 times a second.
const interval = 100 * time.Millisecond

// viewer is a process that looks at the job or does not, as it is told: a line
// on its standard input switches, and it answers with a line.
type viewer struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	on      bool
}

func newViewer(ctx context.Context, socket string) (*viewer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	v := &viewer{command: exec.CommandContext(ctx, self, "-view", socket)}
	v.command.Stderr = os.Stderr
	if v.in, err = v.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := v.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	v.out = bufio.NewReader(out)
	return v, v.command.Start()
}

// watch has the viewer look at the job, or not.
func (v *viewer) watch(on bool) error {
	if on == v.on {
		return nil
	}
	v.on = on
	if _, err := io.WriteString(v.in, "switch\n"); err != nil {
		return err
	}
	_, err := v.out.ReadString('\n')
	return err
}

func (v *viewer) close() {
	_ = v.in.Close()
	_ = v.command.Wait() // it ends with its input
}

// view is the viewer: it follows the stream and makes a trace of what is new,
// as memtop does, but draws nothing.
func view(ctx context.Context, o *options) error {
	priority.GiveWay() // as memtop does
	var client *attach.Client
	defer func() {
		if client != nil {
			_ = client.Close()
		}
	}()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if client != nil {
			if err := client.Close(); err != nil {
				return err
			}
			client = nil
		} else {
			var err error
			if client, err = attach.Dial(ctx, o.view, attach.DialOptions{Interval: interval}); err != nil {
				return err
			}
			go follow(client) // it ends when the client is closed
		}
		fmt.Println("switched")
	}
	return nil
}

func follow(c *attach.Client) {
	for range c.Changed() {
		c.Trace()
	}
}
