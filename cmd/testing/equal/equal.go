// Package equal compares what a test got with what it wants.
package equal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Values reports how two values differ, if they do: a minus is before what only the wanted one has.
func Values(t testing.TB, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
