// Package tracetest helps tests with traces. It has a text form that people can
// read and change, and [Check], which judges a whole trace without the code that
// memtop replays traces with. It is for tests only.
package tracetest

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

// Parse returns the trace that a test has as text, with or without the first line.
func Parse(tb testing.TB, text string) *trace.Trace {
	tb.Helper()
	t, err := ParseText(strings.NewReader(textHeader + "\n" + strings.TrimPrefix(text, textHeader+"\n")))
	fatal.If(tb, err)
	return t
}

// Text returns a trace in the text form.
func Text(tb testing.TB, t *trace.Trace) string {
	tb.Helper()
	return text(t)
}

// Reasons returns the problems that were kept, as text.
func Reasons(p trace.Problems) []string {
	var all []string
	for _, problem := range p.First {
		all = append(all, problem.String())
	}
	return all
}
