package attach

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/wire"
)

// RecordOptions say what is recorded of a program. The zero value records until
// the program ends.
type RecordOptions struct {
	Interval time.Duration // how often the program sends what is new, 0 for 100 ms
	For      time.Duration // how long, 0 for any
	Steps    int64         // how many steps from now on, 0 for any

	quiet time.Duration // for how long a program may say nothing, 0 for maxQuiet
}

// Recorded is how much was recorded.
type Recorded struct {
	Steps, Bytes int64
	Events       int64  // that the program sent one by one
	Snapshots    bool   // it sends what its allocator kept instead, with any number of events
	Gaps         int    // how often the connection was lost and made again
	Reason       string // why it ended
}

// Recording saves a program's stream.
type Recording struct {
	target *target
	o      RecordOptions
	done   Recorded
	begun  bool // the state at the begin is there: steps count from now on
	bye    bool // the program said goodbye, and the recording has it
}

// NewRecording is [Machine]'s Record here.
func NewRecording(ctx context.Context, target string, o RecordOptions) (*Recording, error) {
	return Here.Record(ctx, target, o)
}

// Record is described at [Machine].
func (m site) Record(ctx context.Context, target string, o RecordOptions) (*Recording, error) {
	e, err := m.locate(ctx, target)
	if err != nil {
		return nil, err
	}
	if _, err := e.info(ctx); err != nil {
		return nil, err
	}
	if o.Interval <= 0 {
		o.Interval = protocol.DefaultInterval
	}
	r := &Recording{target: e.target(DialOptions{Interval: o.Interval, quiet: o.quiet}), o: o}
	if o.Steps > 0 {
		r.target.minor = 1 // whose readers get step by step: a batch may have more than were asked for
	}
	return r, nil
}

// Run writes the recording to w until the program ends, enough is recorded or
// ctx is done, which is no error. At any time w holds a recording.
// When the connection is lost, the recording goes on with another stream, which
// shows as a gap. It is called once.
func (r *Recording) Run(ctx context.Context, w io.Writer) (Recorded, error) {
	defer r.target.asker.close()
	if r.o.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.o.For)
		defer cancel()
	}
	counted := &countingWriter{w: w}
	err := r.run(ctx, counted)
	r.done.Bytes = counted.n
	return r.done, err
}

func (r *Recording) run(ctx context.Context, w *countingWriter) error {
	from, err := r.target.open(ctx, "")
	for err == nil {
		copier := wire.NewCopier(w, from, wire.Limits{})
		var over bool
		over, err = r.copy(ctx, from, copier)
		_ = from.Close() // it was only read from
		switch {
		case over && r.bye:
			return nil
		case over:
			return copier.Bye(r.done.Reason)
		case w.failed:
			return err
		case r.begun && !r.target.runs():
			r.done.Reason = ended
			return copier.Bye(ended)
		case !r.begun:
			return r.target.damaged(from, err)
		case malformed(err):
			return errors.Join(r.target.damaged(from, err), copier.Bye("the rest of the stream was damaged"))
		}
		r.done.Gaps++
		from, err = r.target.reconnect(ctx, "", func(error) {})
	}
	if ctx.Err() != nil {
		return nil // it ended between two connections
	}
	return err
}

// malformed reports whether a stream is such that coming back does not help.
func malformed(err error) bool {
	return errors.As(err, new(*wire.CorruptError)) || errors.As(err, new(*wire.VersionError))
}

// copy copies one connection's stream; over says that it was enough.
func (r *Recording) copy(ctx context.Context, from *connection, copier *wire.Copier) (over bool, err error) {
	for {
		frame, err := copier.Next()
		if ctx.Err() != nil {
			r.done.Reason = "the recording was stopped"
			return true, nil
		}
		if err != nil {
			return false, err
		}
		from.heard(frame)
		events, snapshot := copier.Events()
		r.done.Events += events
		r.done.Snapshots = r.done.Snapshots || snapshot
		if r.begun { // the others are of before
			r.done.Steps += copier.Steps()
		}
		if r.o.Steps > 0 && r.done.Steps >= r.o.Steps {
			r.done.Reason = "all requested steps are recorded"
			return true, nil
		}
		switch frame {
		case wire.CountersFrame: // the end of what belongs together
			r.begun = true
		case wire.ByeFrame:
			r.done.Reason, r.bye = ended, true
			return true, nil
		default: // it is copied, and means nothing here
		}
	}
}

// countingWriter counts what is written.
type countingWriter struct {
	w      io.Writer
	n      int64
	failed bool
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.failed = c.failed || err != nil
	return n, err
}
