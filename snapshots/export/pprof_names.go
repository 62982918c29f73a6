package export

import (
	"bytes"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Names in pprof
//
// A profile has two names for a function: the system's name and the name to show.
// If both are the same, pprof shows the name without the text in parentheses and
// angle brackets: nothing is left of <module>, and the anonymous namespaces of
// C++ are lost. So memtop shortens C++ names itself and keeps their anonymous
// namespaces. The system's name stays whole for -symbolize=demangle=full.

// anonymous is how demangled C++ calls a namespace without a name.
const anonymous = "(anonymous namespace)"

// profileName names the function of a frame for pprof.
func profileName(t *trace.Tables, id trace.FrameID) string {
	if own := t.String(t.Frames[id].Name); strings.Contains(own, "::") {
		return label(withoutParameters(own))
	}
	return functionName(t, id)
}

// withoutParameters leaves the parameters and template arguments out of a name of
// C++. A name whose brackets do not match stays as it is.
func withoutParameters(name string) string {
	short := make([]byte, 0, len(name))
	depth := 0
	for i := 0; i < len(name); {
		rest := name[i:]
		n := 1
		switch {
		case depth == 0 && strings.HasPrefix(rest, anonymous):
			n = len(anonymous)
			short = append(short, anonymous...)
		case depth == 0 && bytes.HasSuffix(short, []byte("operator")):
			n = max(operatorLength(rest), 1)
			short = append(short, rest[:n]...)
		case rest[0] == '(' || rest[0] == '<':
			depth++
		case rest[0] == ')' || rest[0] == '>':
			depth--
		case depth == 0:
			short = append(short, rest[0])
		}
		if depth < 0 {
			return name
		}
		i += n
	}
	if depth > 0 || len(short) == 0 {
		return name
	}
	return string(short)
}

// operatorLength returns how many bytes of text are an operator with brackets in
// its name: (), ->, < and the like.
func operatorLength(text string) int {
	if strings.HasPrefix(text, "()") {
		return 2
	}
	return len(text) - len(strings.TrimLeft(text, "<>=-"))
}
