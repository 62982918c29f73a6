package manual

import (
	"fmt"
	"strings"
)

// text writes paragraphs. Lines that begin with a space or a tab are a table or an
// example and stay as they are; the others are filled.
func (p page) text(text string) {
	literal := false
	for at := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		if indented := strings.HasPrefix(at, " ") || strings.HasPrefix(at, "\t"); at != "" && indented != literal {
			literal = indented
			fmt.Fprintln(p.out, map[bool]string{true: ".RS 4\n.nf", false: ".fi\n.RE"}[literal])
		}
		switch {
		case at != "" && literal:
			fmt.Fprintln(p.out, line(strings.TrimSpace(at)))
		case at != "":
			fmt.Fprintln(p.out, line(at))
		default:
			fmt.Fprintln(p.out, ".sp")
		}
	}
	if literal {
		fmt.Fprintln(p.out, ".fi\n.RE")
	}
}

// line returns a line of text that man takes for nothing else, such as a request,
// which begins with a dot.
func line(text string) string {
	text = escaped(strings.Join(strings.Fields(text), " "))
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}

// escaped returns text in which every sign stands for itself: a hyphen can be
// searched for and pasted, and a quotation mark does not end an argument.
var escaped = strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "'", `\(aq`,
	"·", `\(bu`, "→", `\(->`, "…", "...", "×", `\(mu`).Replace
