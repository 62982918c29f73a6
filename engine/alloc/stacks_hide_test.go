package alloc_test

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestStacksBeginWithWhoWantedTheMemory(t *testing.T) {
	tests := map[string]struct {
		hide []string
		want string // part of the innermost function
	}{
		"nothing hidden":                {nil, "alloc_test.TestStacksBeginWithWhoWantedTheMemory"},
		"the package that allocates":    {[]string{"github.com/memtop/memtop/engine/alloc_test"}, "testing.tRunner"},
		"a package with a like name":    {[]string{"github.com/memtop/memtop/engine/alloc_te"}, "alloc_test.TestStacks"},
		"everything but the last frame": {[]string{"github.com/memtop/memtop/engine/alloc_test", "testing", "runtime"}, "runtime.goexit"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, err := alloc.New(dry.NewMemory(0), alloc.Options{History: 10, Stacks: true})
			fatal.If(t, err)
			for _, path := range test.hide {
				a.Hide(path)
			}
			b, err := a.Alloc(512, 0, alloc.Tag{})
			fatal.If(t, err)
			defer a.Free(b)
			if got := innermost(t, a.Snapshot()); !strings.Contains(got, test.want) {
				t.Errorf("the stack begins with %s, want %s", got, test.want)
			}
		})
	}
}

func innermost(t *testing.T, tr *trace.Trace) string {
	t.Helper()
	events := tr.Devices[0].Events
	for i := range events.Len() {
		if e := events.At(i); e.Kind == trace.Alloc {
			return tr.Tables.String(tr.Tables.Frames[tr.Tables.Stack(e.Stack)[0]].Name)
		}
	}
	t.Fatal("no allocation in the history")
	return ""
}
