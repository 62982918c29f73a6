package attach

import (
	"context"
	"io"
	"strconv"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// Machine is where programs run and can be attached to: this one, [Here], or one that
// something leads to, see [Through]. Safe for concurrent use.
type Machine interface {
	// Name is how the user calls it, "" for this one.
	Name() string
	// Discover is [Discover] there.
	Discover(ctx context.Context) ([]Process, error)
	// Dial is [Dial] there.
	Dial(ctx context.Context, target string, o DialOptions) (*Client, error)
	// Teller finds the program that a target of [Dial] means there. The caller closes it.
	Teller(ctx context.Context, target string) (*Teller, error)
	// Record finds a program there that is to be recorded. Its target and errors are
	// those of [Dial].
	Record(ctx context.Context, target string, o RecordOptions) (*Recording, error)
	// Snapshot has a program there write its memory in PyTorch's format, copies it to w
	// and returns what it says. What arrives is decoded on the way: without an error, all
	// of it came and is a snapshot; with one, w has some of it at most. The target and
	// the errors are those of [Dial], and besides a [*MalformedError] and an
	// [*EndlessError]. Errors of w are returned as they are.
	Snapshot(ctx context.Context, target string, w io.Writer, o SnapshotOptions) (*trace.Trace, error)
}

// Here is the machine that this program runs on.
var Here Machine = site{}

// Through returns the machine that far leads to.
func Through(far Far) Machine { return site{far} }

// site is a machine.
type site struct{ far Far } // nil here

// Name is described at [Machine].
func (m site) Name() string {
	if m.far == nil {
		return ""
	}
	return m.far.Name()
}

// Discover is described at [Machine].
func (m site) Discover(ctx context.Context) ([]Process, error) {
	if m.far == nil {
		return discover(ctx)
	}
	return m.far.Discover(ctx)
}

// locate finds the socket that a target means, and makes sure that its process
// listens there.
func (m site) locate(ctx context.Context, target string) (endpoint, error) {
	if m.far == nil {
		return locate(ctx, target)
	}
	p, err := m.far.Locate(ctx, target)
	return endpoint{pid: p.PID, far: m.far, there: p}, err
}

// Teller is described at [Machine].
func (m site) Teller(ctx context.Context, target string) (*Teller, error) {
	e, err := m.locate(ctx, target)
	if err != nil {
		return nil, err
	}
	a := e.asker(viewerName())
	a.http.Transport = &line{endpoint: e}
	return &Teller{a}, nil
}

// Teller asks one program how it is, again and again over the same connection, which
// costs the program less than a stream. Safe for concurrent use.
type Teller struct{ asker *asker }

// Info asks the program how it is now. Errors are those of [Dial].
func (t *Teller) Info(ctx context.Context) (_ *protocol.Info, err error) {
	defer caught(&err)
	return t.asker.info(ctx)
}

// Settings asks the program for its settings and all changes of them.
func (t *Teller) Settings(ctx context.Context) (_ *protocol.Settings, err error) {
	defer caught(&err)
	return t.asker.settings(ctx)
}

// Change is [Client.Change], under the name that a client has without another. The
// values hold from a step on, 0 for the next one; others are for programs that are
// capable of [protocol.CapabilityAt].
func (t *Teller) Change(ctx context.Context, wanted []trace.Value, step int64) (_ []trace.Change, err error) {
	defer caught(&err)
	return t.asker.change(ctx, wanted, step)
}

// Predict is [Client.Predict].
func (t *Teller) Predict(ctx context.Context, changes []trace.Value) (_ *trace.Prediction, err error) {
	defer caught(&err)
	answer, err := t.asker.foresee(ctx, question(changes))
	return answer.Predicted, err
}

// Watch has the program take this for a viewer that watches, until ctx is done: one that
// measures its memory only then does so. What it sends is not kept.
func (t *Teller) Watch(ctx context.Context) (err error) {
	defer caught(&err)
	from, err := t.asker.get(ctx, "/v1/stream?checksum=none&minor="+strconv.Itoa(wire.Minor))
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it was only read
	for part := make([]byte, 16<<10); err == nil; _, err = from.Read(part) {
		from.heard()
	}
	return err
}

// Close gives up the connection.
func (t *Teller) Close() { t.asker.close() }
