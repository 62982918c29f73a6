package collector

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/exposition"
	"github.com/memtop/memtop/probe/protocol"
)

// maxEnded bounds how many ended programs are shown. A folder has at most
// [protocol.BoxesKept] boxes, and 64 files of programs that ran out of memory.
const maxEnded = 64

// ended returns when each program that `memtop ls --dead` lists was last known to
// run. It reads no box but its header: a scrape must be quick, and a box of one
// program may be damaged.
func ended() exposition.Family {
	family := exposition.Family{
		Name: "memtop_ended_timestamp_seconds", Unit: "seconds",
		Help: "When a program that left a black box or a snapshot last noted that it ran.",
	}
	last := make(map[[2]string]float64) // by pid and how it ended
	note := func(pid int, how string, micros int64) {
		key, at := [2]string{strconv.Itoa(pid), how}, float64(micros)/1e6
		last[key] = max(last[key], at)
	}
	for _, folder := range protocol.BoxFolders() {
		boxes, _ := protocol.Boxes(folder, "") // ls --dead says what is wrong with the folder
		for _, b := range boxes {
			if pid, _, ok := protocol.ParseBoxName(filepath.Base(b.Path)); ok && !b.Held && b.Problem == nil && !b.Hidden() {
				note(pid, "killed", b.Alive.UnixMicro())
			}
		}
	}
	rows, _ := attach.ReadDead(protocol.DeadFolder())
	for _, d := range rows {
		if d.Problem == "" {
			note(d.PID, "out of memory", d.Time)
		}
	}
	for key, at := range last {
		family.Samples = append(family.Samples, exposition.Sample{Labels: []string{"pid", key[0], "ended", key[1]}, Value: at})
	}
	slices.SortFunc(family.Samples, func(a, b exposition.Sample) int { // the newest first
		if a.Value != b.Value {
			return cmp.Compare(b.Value, a.Value)
		}
		return slices.Compare(a.Labels, b.Labels)
	})
	family.Samples = family.Samples[:min(len(family.Samples), maxEnded)]
	return family
}
