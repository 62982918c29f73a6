package cpu

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// touch is a job that writes to one address.
type touch struct{ p unsafe.Pointer }

func (j touch) run(*worker, int) { *(*float32)(j.p) = 1 }

// TestAFaultInAnOperationIsExplained frees a segment after the check at the
// operation's start, as another goroutine could.
func TestAFaultInAnOperationIsExplained(t *testing.T) {
	for name, parts := range map[string]int{"on the caller's goroutine": 1, "on any worker": 100} {
		t.Run(name, func(t *testing.T) {
			d := open(t, Options{Capacity: 4 * mib, Threads: 2})
			addr, err := d.Malloc(2 * mib)
			fatal.If(t, err)
			p, _ := d.pointer(addr, 4)
			d.Free(addr)
			defer func() {
				message, _ := recover().(string)
				if !strings.Contains(message, "use after free") {
					t.Errorf("panicked with %q, want something about use after free", message)
				}
			}()
			d.pool.run(touch{p}, parts)
		})
	}
}
