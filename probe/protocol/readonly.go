package protocol

import (
	"os"
	"strings"
)

// ReadOnlyVariable is the environment variable by which whoever starts a program forbids
// every change of it from outside.
const ReadOnlyVariable = "MEMTOP_READ_ONLY"

// ReadOnly reports whether this program's environment forbids changes. What is no clear
// permission forbids them.
func ReadOnly() bool {
	switch strings.ToLower(os.Getenv(ReadOnlyVariable)) {
	case "", "0", "false":
		return false
	}
	return true
}
