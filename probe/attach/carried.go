package attach

import (
	"cmp"
	"errors"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// Carried is an error of this package, encoded for transport from another
// machine. One of its fields is set.
type Carried struct {
	Missing   *NotFoundError     `json:"missing,omitempty"`
	Forbidden *PermissionError   `json:"forbidden,omitempty"`
	NoProbe   *NoProbeError      `json:"no_probe,omitempty"`
	Silent    *SilentError       `json:"silent,omitempty"`
	Endless   *EndlessError      `json:"endless,omitempty"`
	Malformed *MalformedError    `json:"malformed,omitempty"`
	Refused   *RefusedError      `json:"refused,omitempty"`
	Foreign   *ForeignError      `json:"foreign,omitempty"`
	Version   *wire.VersionError `json:"version,omitempty"`
	Other     string             `json:"other,omitempty"`
}

// Carry encodes an error for transport; nil for none.
func Carry(err error) *Carried {
	c := new(Carried)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &c.Missing), errors.As(err, &c.Forbidden), errors.As(err, &c.Silent), errors.As(err, &c.Endless),
		errors.As(err, &c.Malformed), errors.As(err, &c.Refused), errors.As(err, &c.Foreign), errors.As(err, &c.Version):
	case errors.As(err, &c.NoProbe):
		here := *c.NoProbe
		here.Is = here.Kind()
		c.NoProbe = &here
	default:
		c.Other = err.Error()
	}
	return c
}

// From decodes the error and names the machine that sent it. It makes all texts
// printable.
func (c *Carried) From(host string) error {
	on, at := " on "+host, host+": "
	switch text := trace.Printable; {
	case c.Missing != nil:
		return &NotFoundError{text(c.Missing.Target) + on, text(c.Missing.Instead)}
	case c.Forbidden != nil:
		return &PermissionError{at + why(c.Forbidden.Cause), text(c.Forbidden.Remedy)}
	case c.NoProbe != nil:
		return &NoProbeError{PID: c.NoProbe.PID, Socket: text(c.NoProbe.Socket), Hidden: c.NoProbe.Hidden, Host: host, Is: c.NoProbe.Is}
	case c.Silent != nil:
		return &SilentError{Who: text(c.Silent.Who) + on, Doing: text(c.Silent.Doing), Stopped: c.Silent.Stopped}
	case c.Endless != nil:
		return &EndlessError{at + why(c.Endless.Cause), text(c.Endless.Remedy)}
	case c.Malformed != nil:
		return &MalformedError{text(c.Malformed.Who) + on, text(c.Malformed.What), text(c.Malformed.Reason)}
	case c.Refused != nil:
		return &RefusedError{Cause: at + why(c.Refused.Cause), Remedy: text(c.Refused.Remedy), Busy: c.Refused.Busy}
	case c.Foreign != nil:
		return &ForeignError{text(c.Foreign.User)}
	case c.Version != nil:
		return c.Version
	default:
		return errors.New(at + why(c.Other))
	}
}

// why returns the cause that the machine gives, or a text in its place.
func why(cause string) string {
	return trace.Printable(cmp.Or(cause, "something went wrong there, and its memtop does not say what"))
}
