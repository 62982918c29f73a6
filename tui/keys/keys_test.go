package keys

import (
	"reflect"
	"testing"

	"charm.land/bubbles/v2/key"
)

// TestHelpHasEveryBinding counts fields, so that a key that is added and not listed
// fails here.
func TestHelpHasEveryBinding(t *testing.T) {
	for _, test := range []struct {
		keys any
		help []key.Binding
	}{{NewMotion(), NewMotion().Bindings()}, {NewPane(), NewPane().Bindings()}} {
		if fields := reflect.TypeOf(test.keys).NumField(); fields != len(test.help) {
			t.Errorf("%T has %d keys, and help %d", test.keys, fields, len(test.help))
		}
	}
}
