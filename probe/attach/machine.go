package attach

import (
	"context"

	"memtop/probe/protocol"
)

// Machine is where programs run and can be attached to: this one, [Here], or another.
// Safe for concurrent use.
type Machine interface {
	// Name is how the user calls it, "" for this one.
	Name() string
	// Discover is [Discover] there.
	Discover(ctx context.Context) ([]Process, error)
	// Dial is [Dial] there.
	Dial(ctx context.Context, target string, o DialOptions) (*Client, error)
	// Teller is [NewTeller] there.
	Teller(ctx context.Context, target string) (*Teller, error)
}

// Here is the machine that this program runs on.
var Here Machine = here{}

type here struct{}

func (here) Name() string { return "" }

func (here) Discover(ctx context.Context) ([]Process, error) { return Discover(ctx) }

func (here) Dial(ctx context.Context, target string, o DialOptions) (*Client, error) {
	return Dial(ctx, target, o)
}

func (here) Teller(ctx context.Context, target string) (*Teller, error) {
	return NewTeller(ctx, target)
}

// Teller asks one program how it is, again and again over the same connection, which
// costs the program less than a stream. Safe for concurrent use.
type Teller struct{ asker *asker }

// NewTeller finds the program that a target means. The target and the errors are those
// of [Dial]. The caller closes it.
func NewTeller(ctx context.Context, target string) (*Teller, error) {
	e, err := locate(ctx, target)
	if err != nil {
		return nil, err
	}
	return &Teller{e.asker("")}, nil
}

// Info asks the program how it is now. Errors are those of [Dial].
func (t *Teller) Info(ctx context.Context) (_ *protocol.Info, err error) {
	defer caught(&err)
	return t.asker.info(ctx)
}

// Close gives up the connection.
func (t *Teller) Close() { t.asker.close() }
