package attach

import (
	"context"
	"strconv"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// Machine is a machine with programs to attach to: this one, [Here], or another
// one, see [Through]. Safe for concurrent use.
type Machine struct{ far Far } // nil for this machine

// Here is the machine that this program runs on.
var Here Machine

// Through returns the machine that far reaches.
func Through(far Far) Machine { return Machine{far} }

// Name is the user's name of the machine, "" for this one.
func (m Machine) Name() string {
	if m.far == nil {
		return ""
	}
	return m.far.Name()
}

// Discover is [Discover] on that machine.
func (m Machine) Discover(ctx context.Context) ([]Process, error) {
	if m.far == nil {
		return discover(ctx)
	}
	return m.far.Discover(ctx)
}

// locate finds the socket of a target, and checks that its process listens there.
func (m Machine) locate(ctx context.Context, target string) (endpoint, error) {
	if m.far == nil {
		return locate(ctx, target)
	}
	p, err := m.far.Locate(ctx, target)
	return endpoint{pid: p.PID, far: m.far, there: p}, err
}

// Teller finds the program that a target of [Dial] names on that machine. The
// caller closes the Teller.
func (m Machine) Teller(ctx context.Context, target string) (*Teller, error) {
	e, err := m.locate(ctx, target)
	if err != nil {
		return nil, err
	}
	a := e.asker(viewerName())
	a.http.Transport = &line{endpoint: e}
	return &Teller{a}, nil
}

// Teller sends one program many requests for its state over one connection. That
// costs the program less than a stream. Safe for concurrent use.
type Teller struct{ asker *asker }

// Info asks the program for its current state. Errors are those of [Dial].
func (t *Teller) Info(ctx context.Context) (_ *protocol.Info, err error) {
	defer caught(&err)
	return t.asker.info(ctx)
}

// Settings asks the program for its settings and all changes of them.
func (t *Teller) Settings(ctx context.Context) (_ *protocol.Settings, err error) {
	defer caught(&err)
	return t.asker.settings(ctx)
}

// Change is [Client.Change], under the client's default name. The values hold
// from a step on; 0 is the next step. Any other step needs a program with
// [protocol.CapabilityAt].
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

// Watch makes the program count this as a viewer that watches, until ctx is done:
// some programs measure their memory only then. Watch discards what the program
// sends.
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

// Close closes the connection.
func (t *Teller) Close() { t.asker.close() }
