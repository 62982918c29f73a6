package probetest

import "os"

// WithoutBoxes turns off black boxes for the programs of a package's tests.
// Programs that are killed or run out of memory would otherwise leave boxes among
// the user's own. A test that wants a box names its folder. TestMain calls
// WithoutBoxes.
func WithoutBoxes() {
	const variable = "MEMTOP_BLACK_BOX" // of package protocol, which tests with this one too
	if os.Getenv(variable) == "" {
		_ = os.Setenv(variable, "off") // the name is valid
	}
}
