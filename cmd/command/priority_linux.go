package command

import (
	"os"
	"strconv"
	"syscall"
)

// lowered is the niceness of a program that only watches: it changes nothing
// while no other program wants the processors.
const lowered = 10

// GiveWay lets other programs have the processors first: who looks at a job
// must not slow it down, and on a machine whose cores are all busy would. It is
// for the threads that there are and those that they start, and never fails
// where it matters: without leave everything stays as it is. Programs that are
// started later begin with the same priority.
func GiveWay() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, lowered) // it may have ended
		}
	}
}
