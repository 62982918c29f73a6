package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/probe/attach"
)

// problems returns lines that say why memtop cannot attach to some processes.
// Each process has its own line. Stale sockets have one line per folder, and
// other users' processes share one line.
func problems(processes []attach.Process) []string {
	var lines, others []string
	left := make(map[string]int) // sockets by folder
	for _, p := range processes {
		var foreign *attach.ForeignError
		var none *attach.NoProbeError
		switch {
		case p.Problem == nil:
		case errors.As(p.Problem, &foreign):
			others = append(others, foreign.User)
		case errors.As(p.Problem, &none) && p.PID == 0:
			left[filepath.Dir(p.Socket)]++
		default:
			lines = append(lines, problem(p))
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(left)) {
		lines = append(lines, fmt.Sprintf("sockets left behind by ended processes: %d in %s; the next program there removes them", left[folder], folder))
	}
	if len(others) > 0 {
		lines = append(lines, "programs of other users are not listed ("+strings.Join(others, ", ")+"); root sees them")
	}
	return slices.Compact(lines)
}

// problem says why a process cannot be attached to, and what to do.
func problem(p attach.Process) string {
	_, line := describe(p.Problem)
	name := "process " + strconv.Itoa(p.PID)
	if p.Host != "" {
		name += " on " + p.Host
	}
	if p.PID == 0 || strings.HasPrefix(line, name+" ") {
		return line
	}
	return name + ": " + line
}

// noProbe returns cause and remedy for a process without a probe.
func noProbe(none *attach.NoProbeError) (cause, remedy string) {
	is := func(what string) string { return fmt.Sprintf("%s is %s", none.Process(), what) }
	switch none.Kind() {
	case attach.PyTorchKind:
		if none.Host != "" {
			return none.Error(), "bring the agent into it there: memtop attach " + strconv.Itoa(none.PID)
		}
		return withoutAgent(none.PID)
	case attach.LauncherKind:
		return is("a launcher, which only starts others"), "attach to one that it started; memtop ls lists them"
	case attach.GoKind:
		return is("a Go program without a probe"), "call probe.Listen in it, as docs/embedding.md shows"
	case attach.TrainerKind:
		return is("memtrain with its probe off"), "start it with --probe on"
	case attach.KernelKind:
		return is("a thread of the kernel"), listsRemedy
	case attach.OtherKind:
		return none.Error(), "attach to a PyTorch program, to memtrain or to a Go program that calls probe.Listen; memtop ls lists them"
	default: // nothing is known of it
		return none.Error(), listsRemedy
	}
}

const listsRemedy = "memtop ls lists what can be attached to"
