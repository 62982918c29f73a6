package ptx

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Module is the text of a module, taken apart. It does not change.
type Module struct {
	functions map[string]*function
	entries   []string
	shared    []variable // of the whole module
	constants []variable
}

// function is an entry or a function that entries call.
type function struct {
	name    string
	entry   bool
	threads int // the most of a block, 0 if the text says nothing
	params  []variable
	results []variable
	shared  []variable
	local   variable // of each thread
	body    []statement
	labels  map[string]int // the statement behind each
}

// variable is memory that has a name.
type variable struct {
	name         string
	bytes, align int
	content      []byte // of a constant
}

// statement is an instruction as it is written.
type statement struct {
	line     int
	guard    string // the register that decides whether a branch is taken, or nothing
	unless   bool   // it is taken if the guard is false
	opcode   string
	operands []string
}

var comments = regexp.MustCompile(`//[^\n]*`)

// Parse takes the text of a module apart. It knows the language as clang writes it.
func Parse(text string) (*Module, error) {
	m := &Module{functions: make(map[string]*function)}
	p := &parser{module: m, text: comments.ReplaceAllString(strings.TrimRight(text, "\x00"), ""), line: 1}
	for p.err == nil {
		s, open := p.next()
		if s == "" {
			break
		}
		p.top(s, open)
	}
	if p.err != nil {
		return nil, fmt.Errorf("ptx: line %d: %w", p.line, p.err)
	}
	return m, nil
}

// Entries returns the names of the kernels, in the order of the text.
func (m *Module) Entries() []string { return m.entries }

// parser reads statements.
type parser struct {
	module *Module
	text   string
	line   int // where the text left begins
	err    error
}

// next returns the text up to a semicolon, a colon behind a label, or a brace around
// statements; open says that a brace opens behind it. It is empty at the end.
func (p *parser) next() (s string, open bool) {
	p.skip()
	header := strings.HasPrefix(p.text, ".func") || strings.HasPrefix(p.text, ".visible")
	if p.text != "" && (p.text[0] == '{' || p.text[0] == '}') {
		return p.take(1, 0), false
	}
	for i := range len(p.text) {
		switch c := p.text[i]; {
		case c == ';', c == ':' && p.text[0] == '$':
			return p.take(i, 1), false
		case c == '{' && header:
			return p.take(i, 1), true
		case c == '\n' && directive(p.text[:i]):
			return p.take(i, 1), false
		}
	}
	return p.take(len(p.text), 0), false
}

// directive reports whether a line is one of those that end without a semicolon.
func directive(line string) bool {
	for _, name := range []string{".version", ".target", ".address_size"} {
		if strings.HasPrefix(line, name) {
			return true
		}
	}
	return false
}

// take returns n bytes, and drops some more.
func (p *parser) take(n, more int) string {
	s := p.text[:n]
	n = min(n+more, len(p.text))
	p.line += strings.Count(p.text[:n], "\n")
	p.text = p.text[n:]
	return s
}

func (p *parser) skip() {
	p.take(len(p.text)-len(strings.TrimLeft(p.text, " \t\n")), 0)
}

func (p *parser) fail(format string, arguments ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, arguments...)
	}
}

// top reads a statement that is in no function.
func (p *parser) top(s string, open bool) {
	switch {
	case directive(s):
	case open:
		p.function(s)
	case strings.HasPrefix(s, ".func"): // its definition follows
	case strings.Contains(s, ".shared"):
		p.module.shared = append(p.module.shared, p.variable(s))
	case strings.HasPrefix(s, ".const"):
		p.module.constants = append(p.module.constants, p.variable(s))
	default:
		p.fail("a statement that is not known: %s", s)
	}
}

// variable reads a declaration, such as ".param .align 8 .b8 name[48]".
func (p *parser) variable(s string) variable {
	declaration, values, constant := strings.Cut(s, "=")
	v := variable{align: 1}
	fields := strings.Fields(declaration)
	for i, f := range fields {
		switch {
		case f == ".align":
			v.align = p.number(fields[i+1])
		case strings.HasPrefix(f, ".b"):
			v.bytes = p.number(f[2:]) / 8
			v.align = max(v.align, v.bytes)
		}
	}
	name, count, array := strings.Cut(fields[len(fields)-1], "[")
	if v.name = name; array {
		n, _ := strconv.Atoi(strings.TrimSuffix(count, "]")) // without one, the launch says how many
		v.bytes *= n
	}
	if constant {
		for value := range strings.SplitSeq(strings.Trim(values, " {}"), ",") {
			v.content = append(v.content, byte(p.number(strings.TrimSpace(value))))
		}
	}
	return v
}

func (p *parser) number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		p.fail("%w", err)
	}
	return n
}
