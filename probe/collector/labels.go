package collector

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
)

// maxLabel is the greatest length of a label's value, in characters.
const maxLabel = 64

// label makes a text a valid label value.
func label(text string) string {
	runes := []rune(trace.Printable(text))
	if len(runes) > maxLabel {
		return string(runes[:maxLabel-1]) + "…"
	}
	return string(runes)
}

// labels returns the labels of a program's series. They keep their first values
// as long as the program lives, and so does its rank: a process can overwrite its
// command line, and each new value would make a new time series. The label is not
// named job, because Prometheus sets that itself.
func (c *Collector) labels(p attach.Process) []string {
	known, seen := c.known[p.Socket]
	if !seen {
		known.program = []string{"pid", strconv.Itoa(p.PID), "command", label(programOf(p.Command)), "user", label(p.User)}
	}
	if known.rank == nil && p.Info != nil && p.Info.Rank != nil {
		known.rank = []string{"job_id", label(p.Info.Rank.Job), "rank", strconv.Itoa(p.Info.Rank.Rank)}
	}
	c.known[p.Socket] = known
	return slices.Concat(known.program, known.rank)
}

// forget keeps the labels of some programs only: they must not grow as programs come
// and go.
func (c *Collector) forget(but []attach.Process) {
	kept := make(map[string]called, len(but))
	for _, p := range but {
		if known, seen := c.known[p.Socket]; seen {
			kept[p.Socket] = known
		}
	}
	c.known = kept
}

// called is the names and values of a program's labels.
type called struct{ program, rank []string }

// programOf returns the name of a command line's program, and of its script. It
// leaves out the arguments, which may be secret.
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
