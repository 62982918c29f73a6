package protocol

import (
	"os"
	"strings"
)

// ReadOnlyVariable is the environment variable with which the user who starts a
// program forbids all changes by viewers.
const ReadOnlyVariable = "MEMTOP_READ_ONLY"

// ReadOnly reports whether this program's environment forbids changes. An unclear
// value forbids them.
func ReadOnly() bool {
	switch strings.ToLower(os.Getenv(ReadOnlyVariable)) {
	case "", "0", "false":
		return false
	}
	return true
}
