package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	priority "github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
)

// interval is the viewer's update interval: 10 times a second.
const interval = 100 * time.Millisecond

// ownViewer starts a viewer. It returns a function that makes it follow the job
// or stop, and a function that ends it.
func ownViewer(ctx context.Context, socket string) (look func(on bool) error, end func(), err error) {
	r, err := start(ctx, "viewer", socket)
	if err != nil {
		return nil, nil, err
	}
	was := false
	return func(on bool) error {
		if on == was {
			return nil
		}
		was = on
		if _, err := io.WriteString(r.in, "switch\n"); err != nil {
			return err
		}
		_, err := r.out.ReadString('\n')
		return err
	}, r.end, nil
}

// viewer runs the viewer. At each line of its input it starts or stops following
// the stream, and answers with a line. It makes a trace of new events, as memtop
// does, but draws nothing.
func viewer(ctx context.Context, o *options) error {
	priority.GiveWay() // as memtop does
	fmt.Println("ready")
	var client *attach.Client
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var err error
		if client != nil {
			err, client = client.Close(), nil
		} else if client, err = attach.Dial(ctx, o.rest, attach.DialOptions{Interval: interval}); err == nil {
			go follow(client) // it ends when the client is closed
		}
		if err != nil {
			return err
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
