package main

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/memtop/memtop/probe/protocol"
)

// kills kills a process that trains, and sets another variable to its black box:
//
//	kills VARIABLE BOX
func kills(ts *testscript.TestScript, _ bool, args []string) {
	pid := end(ts, args[0])
	within(ts, "the box of an ended program", func() bool {
		boxes, err := protocol.Boxes(ts.Getenv("MEMTOP_BLACK_BOX"), "")
		ts.Check(err)
		for _, b := range boxes {
			if name := strconv.Itoa(pid) + "-"; !b.Held && len(filepath.Base(b.Path)) > len(name) && filepath.Base(b.Path)[:len(name)] == name {
				ts.Setenv(args[1], b.Path)
				return true
			}
		}
		return false
	})
}

// ends kills trainers that the script needs no more, so that what follows has the
// processors:
//
//	ends VARIABLE...
func ends(ts *testscript.TestScript, _ bool, args []string) {
	for _, variable := range args {
		end(ts, variable)
	}
}

func end(ts *testscript.TestScript, variable string) (pid int) {
	pid, err := strconv.Atoi(ts.Getenv(variable))
	ts.Check(err)
	process, err := os.FindProcess(pid)
	ts.Check(err)
	ts.Check(process.Kill())
	return pid
}
