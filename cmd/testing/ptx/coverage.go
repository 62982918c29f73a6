package ptx

import "strings"

// Line is an instruction of the text.
type Line struct {
	Number   int
	Function string
	Text     string
}

// Missed returns the instructions that no launch has executed so far, and how many there
// are in all. An instruction of a function that entries call counts for each of them.
func (p *Program) Missed() (missed []Line, all int) {
	for i := range p.code {
		in := &p.code[i]
		if in.written == nil {
			continue
		}
		if all++; in.times == 0 {
			missed = append(missed, Line{in.written.line, in.function.name, in.written.text()})
		}
	}
	return missed, all
}

// text returns a statement nearly as it is written.
func (s *statement) text() string {
	guard := ""
	if s.guard != "" {
		guard = "@" + strings.Repeat("!", int(truth(s.unless))) + s.guard + " "
	}
	return strings.TrimSpace(guard + s.opcode + " " + strings.Join(s.operands, ", "))
}
