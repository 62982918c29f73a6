package ptx

import (
	"regexp"
	"strings"
)

// Line is an instruction of the text.
type Line struct {
	Number   int
	Function string
	Text     string
}

// Len returns the number of places of instructions; some have none.
func (p *Program) Len() int { return len(p.code) }

// At returns an instruction, and how often warps have executed it. It is false if there
// is none at the place.
func (p *Program) At(place int) (l Line, times uint32, ok bool) {
	in := &p.code[place]
	if in.written == nil {
		return Line{}, 0, false
	}
	return Line{in.written.line, in.function.name, in.written.text()}, in.times, true
}

// Ways returns the places at which a conditional branch goes on, if it is not taken and if
// it is, and what its condition is computed from. It is false for other instructions.
func (p *Program) Ways(place int) (next [2]int, condition string, ok bool) {
	in := &p.code[place]
	if in.written == nil || in.written.guard == "" {
		return next, "", false
	}
	return [2]int{place + 1, int(in.target)}, in.function.definition(in.written.guard, 3), true
}

// definition returns the instructions that compute a register, without the names of
// others: those are replaced by what computes them, so many instructions deep.
func (f *function) definition(register string, deep int) string {
	var all []string
	for i := range f.body {
		s := &f.body[i]
		if len(s.operands) < 2 || s.operands[0] != register || strings.HasPrefix(s.opcode, "st.") {
			continue
		}
		parts := []string{s.opcode}
		for _, o := range s.operands[1:] {
			if strings.HasPrefix(o, "%") && deep > 1 {
				o = "(" + f.definition(o, deep-1) + ")"
			}
			parts = append(parts, registers.ReplaceAllString(o, "%"))
		}
		all = append(all, strings.Join(parts, " "))
	}
	return strings.Join(all, " or ")
}

var registers = regexp.MustCompile(`%[a-z]+[0-9]+`)

// text returns a statement nearly as it is written.
func (s *statement) text() string {
	guard := ""
	if s.guard != "" {
		guard = "@" + strings.Repeat("!", int(truth(s.unless))) + s.guard + " "
	}
	return strings.TrimSpace(guard + s.opcode + " " + strings.Join(s.operands, ", "))
}
