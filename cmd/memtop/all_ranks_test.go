package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// ranked is a program with a probe that says which rank it is, until it is ended: what
// RANKED says, which is the job, the rank, the world, and how many mebibytes of
// activations there are at the peak of its steps. After the first one, it makes one after
// each change of its settings.
func ranked() {
	place := &trace.Rank{Launcher: "torchrun"}
	var activations int64
	if _, err := fmt.Sscan(os.Getenv("RANKED"), &place.Job, &place.Rank, &place.World, &activations); err != nil {
		panic(err)
	}
	place.Local, activations = place.Rank, activations<<20
	program := probetest.New()
	changed := make(chan struct{}, 16) // never closed
	p, err := probe.Listen(context.Background(), probe.Options{Rank: place, Program: "train.py", Control: stepper{program, changed}}, program)
	if err != nil {
		panic(err)
	}
	program.Run(10)
	for number := int64(1); ; number++ {
		p.Step(trace.Step{
			Number: number, Duration: 1e6, Allocated: 5 * probetest.Block, Reserved: 1 << 20,
			PeakAllocated: 8<<20 + activations, PeakReserved: 200 << 20,
			AtPeak:   []trace.Amount{{Name: "parameter", Bytes: 8 << 20}, {Name: "activation", Bytes: activations}},
			Settings: []trace.Value{{Key: "amp", Value: program.Options()[1].Value}},
		})
		if number == 1 {
			fmt.Println("ready")
		}
		<-changed
	}
}

// stepper is a program that tells of each change.
type stepper struct {
	*probetest.Program
	changed chan struct{}
}

func (s stepper) Set(key, value string) error {
	defer func() { s.changed <- struct{}{} }()
	return s.Program.Set(key, value)
}

// job starts a process for each rank of a job, with so many mebibytes of activations
// each, and sets the variables VARIABLE0, VARIABLE1 and so on to their pids:
//
//	job VARIABLE NAME MEBIBYTES...
func job(ts *testscript.TestScript, _ bool, args []string) {
	path, err := os.Executable()
	ts.Check(err)
	for i, activations := range args[2:] {
		cmd := exec.Command(path) //nolint:noctx // the script's end ends it
		cmd.Args = []string{"ranked"}
		place := fmt.Sprintf("RANKED=%s %d %d %s", args[1], i, len(args[2:]), activations)
		cmd.Env = append(os.Environ(), place, "MEMTOP_DIR="+ts.Getenv("MEMTOP_DIR"))
		start(ts, cmd)
		ts.Setenv(args[0]+strconv.Itoa(i), strconv.Itoa(cmd.Process.Pid))
	}
}

func TestOneJobIsMeantWithoutANameWhereThereIsNoOther(t *testing.T) {
	rank := func(pid int, job string, number int) attach.Process {
		return attach.Process{PID: pid, Socket: job + strconv.Itoa(number), Info: &protocol.Info{Rank: &trace.Rank{Job: job, Rank: number, World: 2}}}
	}
	tests := map[string]struct {
		all  []attach.Process
		want string
	}{
		"one job":         {[]attach.Process{{PID: 9, Info: &protocol.Info{}}, rank(1, "a", 1), rank(2, "a", 0)}, "2 1"},
		"two jobs":        {[]attach.Process{rank(1, "a", 0), rank(2, "b", 0), rank(3, "a", 1)}, "there are several jobs"},
		"no job":          {[]attach.Process{{PID: 9, Info: &protocol.Info{}}}, "there is no job of several ranks that can be attached to"},
		"nothing at all":  {nil, "there is no job of several ranks that can be attached to"},
		"none that talks": {[]attach.Process{{PID: 9, Problem: &attach.SilentError{}}}, "there is no job of several ranks that can be attached to"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			job, err := onlyJob(test.all)
			got := strings.Join(targets(job), " ")
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
