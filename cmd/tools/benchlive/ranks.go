package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/memtop/memtop/cmd/tools/terminal"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/snapshots/trace"
)

// ranks measures a screen that follows a job of o.ranks ranks, each a process of its own.
func ranks(ctx context.Context, o options) (err error) {
	folder, err := os.MkdirTemp("", "benchlive")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := os.Setenv("MEMTOP_DIR", folder); err != nil {
		return err
	}
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(o.seconds+120)*time.Second)
	defer cancel() // which ends the ranks too
	pid := 0
	for i := range o.ranks {
		if pid, err = startSelf(ctx, &all, "-ranks", strconv.Itoa(o.ranks), "-rank", strconv.Itoa(i)); err != nil {
			return err
		}
	}
	command := exec.CommandContext(ctx, o.memtop, "attach", strconv.Itoa(pid), "--interval", "100ms")
	t, err := terminal.Start(command, 200, 60)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave(ctx, t)) }()
	title := strconv.Itoa(o.ranks) + " ranks"
	if err := t.Until(ctx, func(text string) bool {
		return strings.Contains(text, "Ranks of benchlive") && strings.Contains(text, title)
	}); err != nil {
		return err
	}
	fmt.Printf("%d ranks at 200×60       bytes/s   memtop's share of a core\n", o.ranks)
	if err := one(ctx, t, command, o, "", "page 9"); err != nil {
		return err
	}
	return one(ctx, t, command, o, "1", "page 1 of a rank")
}

// startSelf starts this program with other arguments, waits until it can be attached
// to, and lets it run until ctx is done; then all is waited for.
func startSelf(ctx context.Context, all *sync.WaitGroup, args ...string) (pid int, err error) {
	own, err := os.Executable()
	if err != nil {
		return 0, err
	}
	command := exec.CommandContext(ctx, own, args...)
	command.Stderr = os.Stderr
	told, err := command.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := command.Start(); err != nil {
		return 0, err
	}
	all.Go(func() { _ = command.Wait() }) // it is killed in the end
	if _, err := bufio.NewReader(told).ReadString('\n'); err != nil {
		return 0, fmt.Errorf("%s does not begin: %w", strings.Join(args, " "), err)
	}
	return command.Process.Pid, nil
}

// beRank is one rank: it makes ten steps a second.
func beRank(ctx context.Context, number, world int) error {
	p := newProgram()
	l, err := probe.Listen(ctx, probe.Options{
		Program: "benchlive", Rank: &trace.Rank{Job: "benchlive", Rank: number, World: world, Local: number},
		Gauge: func() []trace.Gauge { return []trace.Gauge{{Total: 1 << 34, Others: 1 << 20}} },
	}, p)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // it ends with the process
	fmt.Println("listening")
	for step := int64(1); ; step++ {
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return nil //nolint:nilerr // it was to end
		}
		if step%4 == 0 {
			p.allocate() // of which there is room for minutes
		}
		size := int64(number%8)<<20 + step%4<<16
		l.Step(trace.Step{
			Number: step, Time: time.Now().UnixMicro(), Duration: 1e8, Loss: 2, Allocated: size, PeakAllocated: 2 * size, PeakReserved: 3 * size,
			AtPeak: []trace.Amount{{Name: "activation", Bytes: size}},
		})
	}
}
