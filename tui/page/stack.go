package page

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/screen"
)

// noSource is in place of a frame's unknown file, so that the line still counts
// as a frame. It is not drawn.
const noSource = "??"

// FrameLine returns a frame as a line of a detail pane. The path of a Go function's
// package is that of its file, and is shown there.
func FrameLine(t *trace.Tables, id trace.FrameID) Line {
	f := t.Frames[id]
	name, file := t.String(f.Name), t.String(f.File)
	if lines.IsGo(file) {
		name = lines.GoFunction(name)
	}
	where := file + ":" + strconv.Itoa(int(f.Line))
	if where == "??:0" || where == ":0" {
		where = noSource
	}
	return Line{Text: name, Where: where}
}

// StackLines returns a stack's frames, innermost first, and what torch.fx
// recorded of them. Frames that repeat are shown once with their number.
func StackLines(t *trace.Tables, id trace.StackID) []Line {
	frames := t.Stack(id)
	if len(frames) == 0 {
		return []Line{{Text: "no frames were recorded (history off, context off, or the allocation is older)", Style: screen.Dim}}
	}
	lines := make([]Line, 0, len(frames))
	for i := 0; i < len(frames); {
		n := 1
		for i+n < len(frames) && frames[i+n] == frames[i] {
			n++
		}
		line := FrameLine(t, frames[i])
		if n > 1 {
			line.Text += " ×" + strconv.Itoa(n)
		}
		lines = append(lines, line)
		lines = append(lines, fxLines(t, frames[i])...)
		i += n
	}
	return lines
}

func fxLines(t *trace.Tables, id trace.FrameID) []Line {
	at, ok := t.FrameFX[id]
	if !ok {
		return nil
	}
	fx := t.FX[at]
	lines := []Line{{
		Text: "  fx node=" + t.String(fx.NodeName) + " op=" + t.String(fx.Op) + " target=" + t.String(fx.Target), Style: screen.Dim,
	}}
	for line := range strings.Lines(t.String(fx.OriginalTrace)) {
		lines = append(lines, Line{Text: "  " + strings.TrimSpace(line), Style: screen.Dim})
	}
	return lines
}

// NoteLines returns the other metadata of an event or a block.
func NoteLines(t *trace.Tables, id trace.NoteID) []Line {
	if id == 0 {
		return nil
	}
	n := t.Notes[id]
	var lines []Line
	for _, p := range [...]struct {
		label string
		id    trace.StringID
	}{
		{"compile", n.CompileContext},
		{"metadata", n.UserMetadata},
		{"allocator", n.Internal},
	} {
		if s := t.String(p.id); known(s) {
			lines = append(lines, Pair(p.label, metadataText(s)))
		}
	}
	if n.Pool != 0 {
		lines = append(lines, Pair("pool", PoolText(t, n.Pool)))
	}
	for i, s := range t.Lists[n.Forward] {
		if i == 0 {
			lines = append(lines, Heading("forward pass that this belongs to"))
		}
		lines = append(lines, Line{Text: " " + t.String(s)})
	}
	return lines
}

// metadataText returns metadata that PyTorch made of a dict, a JSON object, as
// "key: value, key: value", and other text as it is.
func metadataText(s string) string {
	const longest = 4 << 10 // a detail is made for every move of the cursor
	if len(s) > longest {
		return s
	}
	in := json.NewDecoder(strings.NewReader(s))
	if begin, err := in.Token(); err != nil || begin != json.Delim('{') || !json.Valid([]byte(s)) {
		return s
	}
	var parts []string
	for in.More() {
		key, _ := in.Token() // it is valid
		var value json.RawMessage
		_ = in.Decode(&value)
		text := string(value)
		_ = json.Unmarshal(value, &text) // if it is a text
		parts = append(parts, fmt.Sprint(key)+": "+text)
	}
	return strings.Join(parts, ", ")
}

// known reports whether a word of the file is more than a placeholder.
func known(s string) bool { return s != "" && s != "N/A" }

// Names names the stacks in one list, so that different stacks have different
// names; see [analysis.NamesOf]. If it is empty, each stack is named as if it
// were alone.
type Names map[trace.StackID]string

// Allocation names an allocation in one line: what it is, if the file knows that,
// and where it was made.
func (n Names) Allocation(x *analysis.Index, a trace.Allocation) string {
	t, name := x.Trace().Tables, n.Stack(x, a.Stack, a.FreeStack)
	note := &t.Notes[a.Note]
	for _, id := range [...]trace.StringID{note.Role, note.Layer} {
		if word := t.String(id); known(word) {
			return word + "  " + name
		}
	}
	return name
}

// Stack names a stack. If memory from before recording is only known by the stack
// that freed it, the name says so.
func (n Names) Stack(x *analysis.Index, stack trace.StackID, freed bool) string {
	name, listed := n[stack]
	if !listed {
		name = x.StackName(stack)
	}
	if freed {
		return "held, freed at " + name
	}
	return name
}

// tensorLines describes the tensor of a note in as few lines as are readable: a
// detail is short on a small terminal.
func tensorLines(t *trace.Tables, id trace.NoteID) []Line {
	n := t.Notes[id]
	var lines []Line
	if s := t.String(n.Layer); known(s) {
		lines = append(lines, Pair("layer", s))
	}
	shape, dtype := t.String(n.Shape), t.String(n.DType)
	if !known(shape) {
		shape = ""
	}
	if !known(dtype) {
		dtype = ""
	}
	if text := strings.TrimSpace(shape + " " + dtype); text != "" {
		lines = append(lines, Pair("tensor", text))
	}
	return lines
}

// PoolText names a memory pool.
func PoolText(t *trace.Tables, id trace.PoolID) string {
	if id == 0 {
		return "unknown"
	}
	p := t.Pools[id]
	name := "(" + strconv.FormatInt(p[0], 10) + "," + strconv.FormatInt(p[1], 10) + ")"
	switch {
	case p == trace.Pool{}:
		return "default"
	case p[0] == 0:
		return "private " + name
	default:
		return "graph " + name
	}
}

// StreamText names a stream by its number; the handle is for the detail.
func StreamText(id trace.StreamID) string { return strconv.Itoa(int(id)) }

// TellingLines returns the most telling frames of a stack, and how many there
// are in all.
func TellingLines(s *Scene, id trace.StackID) []Line {
	t := s.Tables()
	frames := t.Stack(id)
	telling := s.Index.Telling(id, 64)
	if len(telling) == 0 {
		return StackLines(t, id)
	}
	lines := make([]Line, 0, len(telling)+1)
	for _, f := range telling {
		lines = append(lines, FrameLine(t, f))
		lines = append(lines, fxLines(t, f)...)
	}
	if left := len(frames) - len(telling); left > 0 {
		lines = append(lines, Line{Text: "e shows all " + strconv.Itoa(len(frames)) + " frames", Style: screen.Dim})
	}
	return lines
}
