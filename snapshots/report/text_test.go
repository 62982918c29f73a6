package report

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis"
)

const mib = 1 << 20

// indexOf reads a trace in the text form and indexes its first device.
func indexOf(tb testing.TB, text string) *analysis.Index {
	tb.Helper()
	t := tracetest.Parse(tb, text)
	return analysis.NewIndex(t, &t.Devices[0])
}
