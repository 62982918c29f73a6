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
	pid, err := strconv.Atoi(ts.Getenv(args[0]))
	ts.Check(err)
	process, err := os.FindProcess(pid)
	ts.Check(err)
	ts.Check(process.Kill())
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
