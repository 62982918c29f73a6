package ptx

import "strings"

// function reads a function whose header is read.
func (p *parser) function(header string) {
	header, attributes, _ := cutLast(header, ")")
	before, params, _ := cutLast(header, "(")
	f := &function{labels: make(map[string]int), params: p.variables(params)}
	if strings.HasPrefix(before, ".func") {
		if from := strings.Index(before, "("); from >= 0 {
			result, name, _ := strings.Cut(before[from+1:], ")")
			f.results, before = p.variables(result), name
		}
	} else {
		f.entry = true
	}
	fields := strings.Fields(before)
	f.name = fields[len(fields)-1]
	if _, most, ok := strings.Cut(attributes, ".maxntid"); ok {
		f.threads = p.number(strings.TrimSpace(strings.Split(most, ",")[0]))
	}
	p.module.functions[f.name] = f
	if f.entry {
		p.module.entries = append(p.module.entries, f.name)
	}
	p.body(f)
}

// variables reads a list of declarations.
func (p *parser) variables(list string) []variable {
	var all []variable
	for s := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(s) != "" {
			all = append(all, p.variable(s))
		}
	}
	return all
}

// body reads statements until the function's brace closes.
func (p *parser) body(f *function) {
	for depth := 1; depth > 0 && p.err == nil; {
		p.skip()
		line := p.line
		s, _ := p.next()
		switch {
		case s == "{":
			depth++
		case s == "}":
			depth--
		case s == "" && p.text == "":
			p.fail("%s does not end", f.name)
		case strings.HasPrefix(s, "$"):
			f.labels[s] = len(f.body)
		case strings.HasPrefix(s, "."):
			p.declare(f, s)
		default:
			f.body = append(f.body, instructionOf(line, s))
		}
	}
}

// declare reads a statement that begins with a point. Registers and the parameters of
// calls need no declaration: an instruction says their type.
func (p *parser) declare(f *function, s string) {
	switch word, _, _ := strings.Cut(s, " "); word {
	case ".reg", ".pragma", ".param":
	case ".local":
		f.local = p.variable(s)
	case ".shared":
		f.shared = append(f.shared, p.variable(s))
	default:
		p.fail("a declaration that is not known: %s", s)
	}
}

// instructionOf takes an instruction apart.
func instructionOf(line int, s string) statement {
	in := statement{line: line}
	if strings.HasPrefix(s, "@") {
		guard, rest, _ := strings.Cut(s[1:], " ")
		in.guard, in.unless = strings.TrimPrefix(guard, "!"), strings.HasPrefix(guard, "!")
		s = strings.TrimSpace(rest)
	}
	at := strings.IndexAny(s, " \t\n")
	if at < 0 {
		at = len(s)
	}
	in.opcode, in.operands = s[:at], split(s[at:])
	return in
}

// split takes a list apart at the commas that are in no bracket.
func split(list string) []string {
	var parts []string
	depth, from := 0, 0
	for i := 0; i <= len(list); i++ {
		switch {
		case i == len(list) || list[i] == ',' && depth == 0:
			if part := strings.TrimSpace(list[from:i]); part != "" {
				parts = append(parts, part)
			}
			from = i + 1
		case strings.ContainsRune("[{(", rune(list[i])):
			depth++
		case strings.ContainsRune("]})", rune(list[i])):
			depth--
		}
	}
	return parts
}

// inside returns the parts of a list in brackets.
func inside(s string) []string {
	if len(s) < 2 || !strings.ContainsRune("[{(", rune(s[0])) {
		return []string{s}
	}
	return split(s[1 : len(s)-1])
}

func cutLast(s, separator string) (before, after string, found bool) {
	at := strings.LastIndex(s, separator)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(separator):], true
}
