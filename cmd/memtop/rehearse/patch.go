package rehearse

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/memtop/memtop/probe/python"
)

// patchContext is how many unchanged lines a patch shows on each side.
const patchContext = 3

// patch returns a unified diff, for patch -p0, that puts the lines of an edit into a source.
func patch(e *python.Edit, source string) string {
	lines := strings.SplitAfter(source, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	at := min(e.Line-1, len(lines)-1)
	first, last := max(0, at-patchContext), min(len(lines), at+patchContext)
	added := indented(e.Text, lines[at])
	var text strings.Builder
	name := shortest(e.File)
	fmt.Fprintf(&text, "--- %s\n+++ %s\n@@ -%d,%d +%d,%d @@\n", name, name, first+1, last-first, first+1, last-first+len(added))
	write := func(mark string, lines []string) {
		for _, line := range lines {
			text.WriteString(mark + line)
			if !strings.HasSuffix(line, "\n") {
				text.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	write(" ", lines[first:at])
	write("+", added)
	write(" ", lines[at:last])
	return text.String()
}

// indented returns lines with the indentation and the line ending of another line.
func indented(text, like string) (lines []string) {
	indentation := like[:len(like)-len(strings.TrimLeft(like, " \t"))]
	for line := range strings.Lines(text) {
		if strings.HasSuffix(like, "\r\n") {
			line = strings.TrimSuffix(line, "\n") + "\r\n"
		}
		lines = append(lines, indentation+line)
	}
	return lines
}

// shortest returns a path as seen from the working directory, if it is in it.
func shortest(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if inside, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(inside) {
		return inside
	}
	return path
}
