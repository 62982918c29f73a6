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
// A connection can end while the program goes on: the viewer was stopped for so
// long that the program dropped it, or the other way round. Then the client
// connects again, less and less often, as long as the process runs. It recognises
// the process by its pid and its start. When the process has ended, the client
// looks for its restart, see successor.

// How a client reconnects.
const (
	maxQuiet = 10 * time.Second // a program that is silent this long counts as lost
	backOff  = 100 * time.Millisecond
	maxDelay = 5 * time.Second
)

// batchQuiets is how many times longer than its silence limit a program may take
// for one batch.
const batchQuiets = 3

// connection is one connection to the program's stream.
type connection struct {
	*answer
	late *time.Timer // gives up when a batch does not end
}

// open connects to the program's stream. A new client asks for the past too, and
// a client that reconnects asks for what it missed.
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

// streamPath returns the path of the request for a stream. The checksum is one
// that every language has built in; Castagnoli's would cost a Python program as
// much as all the rest.
func (p *target) streamPath() string {
	return fmt.Sprintf("/v1/stream?interval=%s&minor=%d&checksum=crc32", protocol.Duration(p.interval), p.minor)
}

// endless returns the error for a batch that did not end in time.
func (e endpoint) endless(within time.Duration) error {
	return &EndlessError{
		fmt.Sprintf("%s sends without end: no batch was complete within %v", e, within),
		"try again; if this happens again, its probe is broken",
	}
}

// tooLarge returns the error for a program with more memory blocks than a viewer
// keeps.
func (e endpoint) tooLarge(reason string) error {
	return &EndlessError{
		fmt.Sprintf("%s has more than memtop shows of a running program: %s", e, reason),
		fmt.Sprintf("write its current memory with memtop snapshot %d -o FILE, then use memtop open FILE", e.pid),
	}
}

// heard notes that a frame has arrived.
func (c *connection) heard(frame wire.Type) {
	c.answer.heard()
	if frame == wire.CountersFrame {
		c.late.Reset(batchQuiets * c.limit)
	}
}

// Close closes the connection.
func (c *connection) Close() error {
	c.late.Stop()
	return c.answer.Close()
}

// begin attaches for the first time and waits for the first state. What runs
// after that belongs to the client.
func (c *Client) begin(dialling context.Context, p *target) error {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	defer context.AfterFunc(dialling, cancel)() // the caller can cancel dialling until the first state arrives
	f, err := c.attach(ctx, p)
	if err != nil {
		cancel()
		return cmp.Or(dialling.Err(), err)
	}
	c.all.Go(func() { c.run(ctx, f) })
	if c.o.Gauge != nil {
		go func() { // ends with the client, once the driver answers
			defer close(c.looked)
			c.look(ctx)
		}()
	}
	return nil
}

// following is a program that the client follows, with its stream.
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

// errUngreeted is the error of a stream that does not begin with hello.
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

// batch reads until the end of a batch.
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

// run follows a program and then its restarts, until the client is closed or
// there is no restart.
func (c *Client) run(ctx context.Context, f *following) {
	defer close(c.changed)
	over := sync.OnceFunc(func() { close(c.ended) })
	if err := c.followAll(ctx, f, over); err != nil {
		c.fail(err)
		over()
	}
}

// followAll calls over when the first program has ended. Its error is a
// faultError.
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

// toTheEnd follows a program to its end, and returns why it ended.
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

// ended is the note of a program that has ended.
const ended = "the process has ended; this is its last state"

// follow publishes what arrives until an error or a goodbye.
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

// tooOld is the greatest age of the newest trace while no reader takes it.
const tooOld = time.Second

// wanted reports whether to make another trace: the last one was taken, or is too
// old. A frozen screen takes none.
func (c *Client) wanted() bool {
	return len(c.changed) == 0 || time.Since(c.published) >= tooOld
}

// ending returns why no more will arrive, "" when more may.
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

// place returns the request parameters for a stream that continues this one.
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

// lost shows that the connection was lost. The function it returns shows why the
// client could not reconnect yet.
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

// reconnect tries until it has a connection, or the program has ended. It asks
// for a place to begin, and passes the reason of each failure to failed.
func (p *target) reconnect(ctx context.Context, place string, failed func(error)) (*connection, error) {
	for delay := backOff; ; delay = min(2*delay, maxDelay) {
		// The pause is random, so that viewers that were lost together do not all
		// reconnect at once.
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

// publish makes the current trace available.
func (c *Client) publish(f *following) {
	t := f.stream.Trace()
	t.Info.Path = f.process.Socket
	if c.o.ReadOnly {
		t.Info.Control = false
	}
	gauges, none := f.gauges.merge(t.Live.Gauges)
	t.Live.Gauges = gauges
	t.Live.PID, t.Live.Host = f.process.PID, f.process.Host // as this process sees it
	f.follows(t)
	if none != nil {
		t.Notices = append(t.Notices, "no readings from the driver: "+none.Error())
	}
	c.latest.Store(t)
	c.published = time.Now()
	select {
	case c.changed <- struct{}{}:
	default: // a signal is waiting already, and its receiver will find this trace
	}
}
