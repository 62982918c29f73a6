package analysis

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/analysis/leak"
)

// TestATensorThatIsReplacedByLargerOnesGrows is about one whose first allocation
// was seen: that it came is no reason to look at nothing since.
func TestATensorThatIsReplacedByLargerOnesGrows(t *testing.T) {
	tests := map[string]struct {
		other func(step int64) int64 // bytes of what steps allocate beside it
		want  leak.Trend
		why   string
	}{
		"while shapes stay":  {func(int64) int64 { return 1 << 20 }, leak.Growing, "replaced by larger ones"},
		"as the shapes grow": {func(step int64) int64 { return 1<<20 + step<<14 }, leak.ShapeDriven, "sizes follow the shapes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMaker()
			tag, work := m.tag("other", "", "history"), m.tag("activation", "h.0", "output")
			var held []uint64
			for range 30 {
				m.run(func() {
					other := m.get(work, m.stack(20), test.other(m.step))
					if m.step > 2 {
						m.drop(held...)
						held = []uint64{m.get(tag, m.stack(10), 4096*m.step)}
					}
					m.drop(other)
				})
			}
			made := m.trace()
			x := NewIndex(made, &made.Devices[0])
			for _, s := range x.Sites(made.Devices[0].Events.Len() - 1) {
				if s.ID.Stack() == m.stack(10) && (s.Trend != test.want || !strings.Contains(s.Reason, test.why)) {
					t.Errorf("%v because %q, want %v because of %q", s.Trend, s.Reason, test.want, test.why)
				}
			}
		})
	}
}
