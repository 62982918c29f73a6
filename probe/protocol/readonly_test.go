package protocol_test

import (
	"testing"

	"github.com/memtop/memtop/probe/protocol"
)

func TestOnlyAClearPermissionAllowsChanges(t *testing.T) {
	for text, want := range map[string]bool{"": false, "0": false, "false": false, "FALSE": false, "1": true, "true": true, "yes": true, "00": true} {
		t.Setenv(protocol.ReadOnlyVariable, text)
		if got := protocol.ReadOnly(); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
