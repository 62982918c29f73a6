package probetest

import "os"

// WithoutBoxes has the programs of a package's tests make no black boxes, which those that
// are killed, or run out of memory, would leave among the user's own. Tests that want one
// name its folder. It is called by TestMain.
func WithoutBoxes() {
	const variable = "MEMTOP_BLACK_BOX" // of package protocol, which tests with this one too
	if os.Getenv(variable) == "" {
		_ = os.Setenv(variable, "off") // it is a name that there may be
	}
}
