package main

import (
	"fmt"
	"strconv"

	"github.com/memtop/memtop/probe/attach"
)

// noProbe says what a process without a probe is, and what to do about it there.
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
