package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"time"

	"memtop/snapshots/trace"
	"memtop/snapshots/wire"
)

// # Staying attached
//
// A connection can end though the program goes on: the viewer was stopped for
// so long that the program gave it up, or the other way round. Then the client
// connects again, less and less often, for as long as the process runs. It is
// recognised by its pid and by when it began: another process, even of the same
// command, is never attached to unasked.

// How a client comes back.
const (
	silence  = 10 * time.Second // a program that says nothing for so long is not heard any more
	backOff  = 100 * time.Millisecond
	maxDelay = 5 * time.Second
)

// connection is one connection to the program's stream.
type connection struct {
	io.ReadCloser
	cancel  context.CancelFunc
	silence *time.Timer // cancels when nothing comes
	limit   time.Duration
}

// open connects to the program's stream. Whoever comes for the first time asks
// for the past too.
func (c *Client) open(ctx context.Context, past string) (*connection, error) {
	ctx, cancel := context.WithCancel(ctx)
	interval := url.QueryEscape(c.o.Interval.String())
	body, err := c.asker.get(ctx, "/v1/stream?interval="+interval+past)
	if err != nil {
		cancel()
		return nil, err
	}
	limit := max(silence, 3*c.o.Interval)
	return &connection{body, cancel, time.AfterFunc(limit, cancel), limit}, nil
}

// heard notes that the program has said something.
func (s *connection) heard() { s.silence.Reset(s.limit) }

// Close gives the connection up.
func (s *connection) Close() error {
	s.silence.Stop()
	s.cancel()
	return s.ReadCloser.Close()
}

// begin attaches for the first time and waits for the first state. What goes on
// after that belongs to the client.
func (c *Client) begin(dialling context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	defer context.AfterFunc(dialling, cancel)() // until there is a state, dialling can be called off
	first, err := c.open(ctx, "&past")
	if err != nil {
		cancel()
		return cmp.Or(dialling.Err(), err)
	}
	s := wire.NewStream(first, wire.StreamOptions{Events: c.o.Kept})
	if err := c.batch(first, s); err != nil {
		cancel()
		_ = first.Close() // it was only read from
		return cmp.Or(dialling.Err(), c.damaged(err))
	}
	if c.process.Command == "" {
		c.process.Command = trace.Printable(s.Hello().Command)
	}
	c.publish(s)
	c.all.Go(func() { c.run(ctx, first, s) })
	if c.o.Gauge != nil {
		c.all.Go(func() { c.look(ctx) })
	}
	return nil
}

// damaged says whose fault it is that a stream cannot be read.
func (c *Client) damaged(err error) error {
	var corrupt *wire.CorruptError
	var version *wire.VersionError
	switch {
	case errors.As(err, &version):
		return err
	case errors.As(err, &corrupt):
		return fmt.Errorf("process %d tells nonsense: %w", c.process.PID, err)
	}
	if errors.Is(err, context.Canceled) {
		return &SilentError{c.process.PID}
	}
	return fmt.Errorf("process %d ended the connection before it said anything", c.process.PID)
}

// batch reads until what belongs together is there.
func (c *Client) batch(from *connection, s *wire.Stream) error {
	for {
		frame, err := s.Advance()
		if err != nil {
			return err
		}
		from.heard()
		if frame == wire.CountersFrame || frame == wire.ByeFrame {
			if s.Hello() == nil {
				return errors.New("no greeting came")
			}
			return nil
		}
	}
}

// run reads the stream until the client is closed or the program ends.
func (c *Client) run(ctx context.Context, from *connection, s *wire.Stream) {
	defer close(c.changed)
	for {
		err := c.follow(ctx, from, s)
		_ = from.Close() // it was only read from
		if ctx.Err() != nil {
			return
		}
		if note := c.ending(s, err); note != "" {
			c.over(ctx, s, note)
			return
		}
		s.Disconnect("the connection was lost; trying again")
		c.publish(s)
		if from, err = c.reconnect(ctx); err != nil {
			c.over(ctx, s, ended)
			return
		}
		s.Resume(from)
	}
}

// over tells that nothing more will come of this program, and then of the one
// that takes its place, should there be one.
func (c *Client) over(ctx context.Context, s *wire.Stream, note string) {
	if ctx.Err() != nil {
		return
	}
	s.Disconnect(note)
	c.publish(s)
	close(c.ended)
	if pid := c.successor(ctx, s.Hello().Started); pid != 0 {
		s.Disconnect(fmt.Sprintf("the process has ended; process %d now runs the same command", pid))
		c.publish(s)
	}
}

// ended is the note of a program that is no more.
const ended = "the process has ended; this is its last state"

// follow publishes what comes until an error or a goodbye.
func (c *Client) follow(ctx context.Context, from *connection, s *wire.Stream) error {
	for {
		if err := c.batch(from, s); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, bye := s.Ended(); bye {
			return nil
		}
		c.publish(s)
	}
}

// ending returns why nothing more will come, "" when more may.
func (c *Client) ending(s *wire.Stream, err error) string {
	var corrupt *wire.CorruptError
	var version *wire.VersionError
	reason, bye := s.Ended()
	switch {
	case bye:
		return "the program said goodbye: " + trace.Printable(reason)
	case errors.As(err, &corrupt), errors.As(err, &version):
		return trace.Printable(err.Error()) + "; this is the last good state"
	case !c.runs():
		return ended
	}
	return ""
}

// reconnect tries to come back until it has, or there is nobody to come back to.
func (c *Client) reconnect(ctx context.Context) (*connection, error) {
	for delay := backOff; ; delay = min(2*delay, maxDelay) {
		// Viewers that were lost together do not come back together.
		wait := time.NewTimer(delay/2 + rand.N(delay/2))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return nil, ctx.Err()
		}
		from, err := c.open(ctx, "")
		if err == nil {
			return from, nil
		}
		var forbidden *PermissionError
		if !c.runs() || errors.As(err, &forbidden) {
			return nil, err
		}
	}
}

// publish hands out what is known now.
func (c *Client) publish(s *wire.Stream) {
	t := s.Trace()
	t.Info.Path = c.process.Socket
	if c.o.ReadOnly {
		t.Info.Control = false
	}
	gauges, none := c.gauges.merge(t.Live.Gauges)
	t.Live.Gauges = gauges
	t.Live.PID = c.process.PID // as we see it
	if none != nil {
		t.Notices = append(t.Notices, "the device is not looked at from outside: "+none.Error())
	}
	c.latest.Store(t)
	select {
	case c.changed <- struct{}{}:
	default: // the last one has not been taken yet, and will find this trace
	}
}
