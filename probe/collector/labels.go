package collector

import (
	"path"
	"strings"

	"memtop/probe/attach"
	"memtop/snapshots/trace"
)

// maxLabel is how many characters a label's value has at most.
const maxLabel = 64

// label makes a text fit to be a label's value.
func label(text string) string {
	runes := []rune(trace.Printable(text))
	if len(runes) > maxLabel {
		return string(runes[:maxLabel-1]) + "…"
	}
	return string(runes)
}

// command returns what a process runs. As long as it lives that is what it was
// when it was first seen: a process can write over its command line, and each
// other value would be another time series for the collector that keeps them.
func (c *Collector) command(p attach.Process) string {
	if known := c.commands[p.Socket]; known != "" {
		return known
	}
	return label(programOf(p.Command))
}

// programOf returns the name of a command line's program, and of its script. The
// arguments stay where they are: they may be secret.
func programOf(command string) string {
	words := strings.Fields(command)
	if len(words) == 0 {
		return ""
	}
	name := path.Base(words[0])
	for i, word := range words[1:] {
		before := words[i]
		switch isOption := strings.HasPrefix(word, "-"); {
		case !isOption && (i == 0 || before == "-m" || strings.HasSuffix(word, ".py")):
			return name + " " + path.Base(word)
		case isOption && len(word) > len("-u"):
			return name // what follows may be its value
		}
	}
	return name
}
