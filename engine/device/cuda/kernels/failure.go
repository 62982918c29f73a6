package kernels

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// FailureBytes is the size of the record that a kernel writes when it fails.
const FailureBytes = 32

// The operations that can fail, as kernels number them from 1 on.
var failures = []string{
	"gather: id %d at position %d is outside of a table of %d rows",
	"scatter add: id %d at position %d is outside of a table of %d rows",
	"cross entropy: target %d of row %d is none of %d classes",
}

// Failure returns the error that record describes, or nil. record is FailureBytes
// read from the device. If several threads failed, Failure returns one of their
// errors.
func Failure(record []byte) error {
	kind := binary.LittleEndian.Uint32(record[4:])
	if binary.LittleEndian.Uint32(record) == 0 {
		return nil
	}
	if kind == 0 || int(kind) > len(failures) {
		return errors.New("kernels: a failure that no kernel reports")
	}
	number := func(at int) int64 { return int64(binary.LittleEndian.Uint64(record[at:])) }
	return fmt.Errorf("kernels: "+failures[kind-1], number(8), number(16), number(24))
}
