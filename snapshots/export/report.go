package export

import (
	"encoding/json"
	"io"
	"path/filepath"

	"github.com/memtop/memtop/snapshots/trace"
)

// writeJSON writes what `memtop report --json` prints.
func writeJSON(w io.Writer, t *trace.Trace, o Options) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(o.report(t))
}

// sourceName is the name of the trace's source, without the folders.
func sourceName(t *trace.Trace) string {
	switch t.Info.Path {
	case "":
		return "memory"
	case "-":
		return "standard input"
	default:
		return label(filepath.Base(t.Info.Path))
	}
}
