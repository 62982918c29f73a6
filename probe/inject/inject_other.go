//go:build !linux

package inject

import (
	"context"

	"github.com/memtop/memtop/probe/attach"
)

// Plan is a way to go into a program. There is none on this system.
type Plan struct{}

// NewPlan refuses.
func NewPlan(int) (*Plan, error) {
	return nil, &RefusedError{Cause: "memtop goes into running programs on Linux only", Remedy: launch}
}

// Program returns none.
func (*Plan) Program() *attach.Running { return nil }

// How says nothing.
func (*Plan) How() string { return "" }

// As says nothing.
func (*Plan) As() string { return "" }

// Attend returns at once: this system starts no memtop that would need it.
func Attend() {}

// Start is never reached.
func (*Plan) Start(context.Context) error { panic("inject: there is no plan") }
