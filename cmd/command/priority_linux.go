package command

import (
	"os"
	"strconv"
	"syscall"
)

// lowered is the niceness of a program that only watches: it has no effect while
// no other program needs the processors.
const lowered = 10

// GiveWay lets other programs use the processors first: a viewer must not slow
// down the job that it watches, and would on a machine whose cores are all busy.
// It affects all current threads and those that they start, and programs started
// later. Without permission for it nothing changes.
func GiveWay() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, lowered) // the thread may have ended
		}
	}
}
