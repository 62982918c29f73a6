package attach

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/wire"
)

// RecordOptions say what to record of a program. The zero value records until the
// program ends.
type RecordOptions struct {
	Interval time.Duration // how often the program sends news, 0 for 100 ms
	For      time.Duration // how long, 0 for any
	Steps    int64         // how many measured steps from now on, 0 for any

	quiet time.Duration // how long a program may be silent, 0 for maxQuiet
}

// Recorded says how much a recording contains.
type Recorded struct {
	Steps, Bytes int64
	Events       int64  // events that the program sent one by one
	Snapshots    bool   // the program sends its allocator's own snapshots instead of single events
	Gaps         int    // how often the connection was lost and restored
	Reason       string // why the recording ended
}

// Recording saves a program's stream.
type Recording struct {
	target *target
	o      RecordOptions
	done   Recorded
	begun  bool      // the first state has arrived: steps count from now on
	enough time.Time // when the last of the steps came, zero before
	sealed bool      // a snapshot has come since
	bye    bool      // the program said goodbye, and the recording has it
}

// Record finds a program on that machine and prepares a recording of it. Its
// target and errors are those of [Dial].
func (m Machine) Record(ctx context.Context, target string, o RecordOptions) (*Recording, error) {
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
		r.target.minor = 1 // with 1, steps come one by one: a batch may have more than were asked for
	}
	return r, nil
}

// Run writes the recording to w until the program ends, the recording has enough
// or ctx is done; none of these is an error. At any time w holds a valid
// recording. When the connection is lost, the recording continues with another
// stream, and shows a gap. The caller calls Run once.
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
		if from, err = r.target.reconnect(ctx, "", func(error) {}); err != nil && ctx.Err() == nil && !r.target.runs() {
			r.done.Reason = ended // it takes a while to end, after its files are closed
			return copier.Bye(ended)
		}
		r.done.Gaps++
	}
	if ctx.Err() != nil {
		return nil // the program ended between two connections
	}
	return err
}

// malformed reports whether a stream is so wrong that reconnecting does not help.
func malformed(err error) bool {
	return errors.As(err, new(*wire.CorruptError)) || errors.As(err, new(*wire.VersionError))
}

// copy copies the stream of one connection. It returns over when the recording
// has enough.
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
		if r.done.Events == 0 && events > 0 {
			r.done.Steps, r.enough = 0, time.Time{} // of the steps before it nothing was known
		}
		r.done.Events += events
		r.done.Snapshots = r.done.Snapshots || snapshot
		if r.begun { // earlier steps are from before the recording
			r.done.Steps += copier.Steps()
		}
		if r.o.Steps > 0 && r.done.Steps >= r.o.Steps && r.complete(frame, snapshot) {
			r.done.Reason = "all requested steps are recorded"
			return true, nil
		}
		switch frame {
		case wire.CountersFrame: // the end of a batch
			r.begun = true
		case wire.ByeFrame:
			r.done.Reason, r.bye = ended, true
			return true, nil
		default: // copied, without a meaning here
		}
	}
}

// How long after the last step its events may come. A program takes snapshots as often
// as it can afford; one that has just been asked may make many steps before it says
// anything of its memory.
const (
	snapshotWithin = 10 * time.Second
	firstWithin    = 2 * time.Second
)

// complete reports whether the recording has the events of its last step. Events of
// a program that sends them one by one come before the step. A snapshot comes after
// it, and its parts and tags before the end of its batch. The caller has just copied
// a frame, and says whether that is part of a snapshot.
func (r *Recording) complete(frame wire.Type, snapshot bool) bool {
	if r.enough.IsZero() {
		r.enough = time.Now()
	}
	if !r.done.Snapshots {
		return r.done.Events > 0 || time.Since(r.enough) > firstWithin
	}
	r.sealed = r.sealed || snapshot
	return frame == wire.CountersFrame && (r.sealed || time.Since(r.enough) > snapshotWithin)
}

// countingWriter counts the bytes written.
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
