package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// # Staying attached
//
// A connection can end though the program goes on: the viewer was stopped for
// so long that the program gave it up, or the other way round. Then the client
// connects again, less and less often, for as long as the process runs, which is
// recognised by its pid and by when it began. When that has ended, its restart is
// looked for, see successor.

// How a client comes back.
const (
	maxQuiet = 10 * time.Second // a program that says nothing for so long is not heard any more
	backOff  = 100 * time.Millisecond
	maxDelay = 5 * time.Second
)

// batchQuiets is how many times as long as it may say nothing a program may take
// for what belongs together.
const batchQuiets = 3

// connection is one connection to the program's stream.
type connection struct {
	*answer
	late *time.Timer // gives up when what belongs together has no end
}

// open connects to the program's stream. A client that comes for the first time
// asks for the past too, and one that comes back for what it missed.
func (p *target) open(ctx context.Context, begin string) (*connection, error) {
	from, err := p.asker.get(ctx, p.streamPath()+begin)
	if err != nil {
		return nil, err
	}
	from.limit = max(p.quiet, 3*p.interval)
	within := batchQuiets * from.limit
	c := &connection{from, time.AfterFunc(within, func() { from.cancel(p.asker.endpoint.endless(within)) })}
	c.answer.heard()
	return c, nil
}

// streamPath returns where a stream is asked for. The checksum is one that every
// language has at hand; Castagnoli's costs a program in Python as much as the rest.
func (p *target) streamPath() string {
	return fmt.Sprintf("/v1/stream?interval=%s&minor=%d&checksum=crc32", protocol.Duration(p.interval), p.minor)
}

// endless says that what belongs together did not end in time.
func (e endpoint) endless(within time.Duration) error {
	return &EndlessError{
		fmt.Sprintf("%s sends without end: nothing of it was complete within %v", e, within),
		"try again; if it stays so, its probe is broken",
	}
}

// tooLarge says that a program holds more than a viewer does.
func (e endpoint) tooLarge(reason string) error {
	return &EndlessError{
		fmt.Sprintf("%s has more than memtop shows of a running program: %s", e, reason),
		fmt.Sprintf("memtop snapshot %d -o FILE writes its memory of now, which memtop open shows", e.pid),
	}
}

// heard notes that a frame has come.
func (c *connection) heard(frame wire.Type) {
	c.answer.heard()
	if frame == wire.CountersFrame {
		c.late.Reset(batchQuiets * c.limit)
	}
}

// Close gives the connection up.
func (c *connection) Close() error {
	c.late.Stop()
	return c.answer.Close()
}

// begin attaches for the first time and waits for the first state. What goes on
// after that belongs to the client.
func (c *Client) begin(dialling context.Context, p *target) error {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	defer context.AfterFunc(dialling, cancel)() // until there is a state, dialling can be called off
	f, err := c.attach(ctx, p)
	if err != nil {
		cancel()
		return cmp.Or(dialling.Err(), err)
	}
	c.all.Go(func() { c.run(ctx, f) })
	if c.o.Gauge != nil {
		go func() { // ends with the client, as soon as the driver answers
			defer close(c.looked)
			c.look(ctx)
		}()
	}
	return nil
}

// following is a program that is followed, by its stream.
type following struct {
	*target
	from   *connection
	stream *wire.Stream
}

// attach begins to follow a program, and publishes its first state.
func (c *Client) attach(ctx context.Context, p *target) (*following, error) {
	from, err := p.open(ctx, "&past")
	if err != nil {
		p.asker.close()
		return nil, err
	}
	s := wire.NewStream(from, wire.StreamOptions{Memory: c.o.Memory})
	if err := c.batch(from, s); err != nil {
		_ = from.Close() // it was only read from
		p.asker.close()
		return nil, p.damaged(from, err)
	}
	if p.process.Command == "" {
		p.process.Command = trace.Printable(s.Hello().Command)
	}
	c.now.Store(p)
	f := &following{p, from, s}
	c.publish(f)
	return f, nil
}

// errUngreeted is the fault of a stream that does not begin with hello.
var errUngreeted = errors.New("it does not begin with hello")

// damaged returns the error for a stream that cannot be read.
func (p *target) damaged(from *connection, err error) error {
	var corrupt *wire.CorruptError
	var version *wire.VersionError
	switch {
	case errors.As(err, &version):
		return err
	case errors.As(err, &corrupt) && corrupt.Memory:
		return from.from.endpoint.tooLarge(corrupt.Reason)
	case errors.As(err, &corrupt):
		err = fmt.Errorf("byte %d: %s", corrupt.Offset, corrupt.Reason)
	}
	return from.unreadable("stream", err)
}

// batch reads until what belongs together is there.
func (c *Client) batch(from *connection, s *wire.Stream) error {
	for {
		frame, err := s.Advance()
		if err != nil {
			return err
		}
		from.heard(frame)
		if frame == wire.CountersFrame || frame == wire.ByeFrame {
			if s.Hello() == nil {
				return errUngreeted
			}
			return nil
		}
	}
}

// run follows programs, each the restart of the one before, until the client is
// closed or none comes any more.
func (c *Client) run(ctx context.Context, f *following) {
	defer close(c.changed)
	over := sync.OnceFunc(func() { close(c.ended) })
	if err := c.followAll(ctx, f, over); err != nil {
		c.fail(err)
		over()
	}
}

// followAll calls over when the first program has ended. The error is a fault.
func (c *Client) followAll(ctx context.Context, f *following, over func()) (err error) {
	defer caught(&err)
	for f != nil {
		note := c.toTheEnd(ctx, f)
		if ctx.Err() != nil {
			return nil
		}
		f.stream.Disconnect(note)
		c.publish(f)
		over()
		f = c.restart(ctx, f)
	}
	return nil
}

// toTheEnd follows a program until nothing more will come of it, and returns why.
func (c *Client) toTheEnd(ctx context.Context, f *following) (note string) {
	for {
		err := c.follow(ctx, f)
		_ = f.from.Close() // it was only read from
		if ctx.Err() != nil {
			return ""
		}
		if note := f.ending(err); note != "" {
			return note
		}
		if f.from, err = f.reconnect(ctx, f.place(), f.lost(c)); err != nil {
			return ended
		}
		f.stream.Resume(f.from)
	}
}

// ended is the note of a program that is no more.
const ended = "the process has ended; this is its last state"

// follow publishes what comes until an error or a goodbye.
func (c *Client) follow(ctx context.Context, f *following) error {
	for {
		if err := c.batch(f.from, f.stream); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, bye := f.stream.Ended(); bye {
			return nil
		}
		if c.wanted() {
			c.publish(f)
		}
	}
}

// tooOld is how old the newest trace may become while no reader takes it.
const tooOld = time.Second

// wanted reports whether another trace is worth making: the last one was taken,
// or has become old. A screen that is frozen takes none.
func (c *Client) wanted() bool {
	return len(c.changed) == 0 || time.Since(c.published) >= tooOld
}

// ending returns why nothing more will come, "" when more may.
func (f *following) ending(err error) string {
	reason, bye := f.stream.Ended()
	switch {
	case bye:
		return "the program said goodbye: " + trace.Printable(reason)
	case malformed(err):
		return trace.Printable(err.Error()) + "; this is the last good state"
	case !f.runs():
		return ended
	}
	return ""
}

// place asks a stream to begin where this one ended.
func (f *following) place() string {
	events, step := f.stream.Place()
	query := make(url.Values)
	for device, next := range events {
		query.Add("from", strconv.Itoa(device)+":"+strconv.FormatInt(next, 10))
	}
	if len(query) == 0 {
		return ""
	}
	query.Set("step", strconv.FormatInt(step, 10))
	return "&" + query.Encode()
}

// lost shows that the connection was lost, and returns what shows why it has not come
// back so far.
func (f *following) lost(c *Client) func(error) {
	since := time.Now()
	show := func(err error) {
		what, why := "the connection was lost", ""
		if f.process.Host != "" {
			what = fmt.Sprintf("lost host %s for %v", f.process.Host, time.Since(since).Round(time.Second))
		}
		if host := (*HostError)(nil); errors.As(err, &host) {
			why = ": " + host.Cause
		}
		f.stream.Disconnect(what + why + "; trying again")
		c.publish(f)
	}
	show(nil)
	return show
}

// reconnect tries to come back until it has, or the program has ended. It asks for a
// place to begin, and hands each reason why it has not come back to failed.
func (p *target) reconnect(ctx context.Context, place string, failed func(error)) (*connection, error) {
	for delay := backOff; ; delay = min(2*delay, maxDelay) {
		// Viewers that were lost together do not come back together.
		wait := time.NewTimer(delay/2 + rand.N(delay/2))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return nil, ctx.Err()
		}
		from, err := p.open(ctx, place)
		if err == nil {
			return from, nil
		}
		failed(err)
		var forbidden *PermissionError
		if !p.runs() || errors.As(err, &forbidden) {
			return nil, err
		}
	}
}

// publish hands out a trace of now.
func (c *Client) publish(f *following) {
	t := f.stream.Trace()
	t.Info.Path = f.process.Socket
	if c.o.ReadOnly {
		t.Info.Control = false
	}
	gauges, none := f.gauges.merge(t.Live.Gauges)
	t.Live.Gauges = gauges
	t.Live.PID, t.Live.Host = f.process.PID, f.process.Host // as we see it
	f.follows(t)
	if none != nil {
		t.Notices = append(t.Notices, "the device is not looked at from outside: "+none.Error())
	}
	c.latest.Store(t)
	c.published = time.Now()
	select {
	case c.changed <- struct{}{}:
	default: // the last one has not been taken yet, and will find this trace
	}
}
