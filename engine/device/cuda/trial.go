package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/memtop/memtop/engine/device"
)

// # A trial in a process of its own
//
// A fault of a kernel takes the device from the process that it happens in: "to
// continue using CUDA, the process must be terminated and relaunched", says the
// driver's documentation. A kernel that waits for a copy that never comes has no
// end. So kernels that may do either are tried in another process, which is this
// program again, and a trial that fails costs nothing but time.

// trialVariable tells a process what to try: a device's number and a type.
const trialVariable = "MEMTOP_CUDA_TRIAL"

// trialLimit is how long a trial may take. Most of it is the driver's compiler,
// where there is no compiled code for the device.
const trialLimit = 2 * time.Minute

// hasTrials is true in a program that called Trials.
var hasTrials bool

// Trials lets this program try kernels in processes of its own. It belongs at the
// beginning of main: a process that was started for a trial ends in it.
func Trials() {
	hasTrials = true
	what, ok := os.LookupEnv(trialVariable)
	if !ok {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the pipe closes when the asking process ends
		os.Exit(1)
	}()
	if err := tryNamed(what); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// tryNamed is Try of what the variable says.
func tryNamed(what string) error {
	var o Options
	var name string
	if _, err := fmt.Sscan(what, &o.Ordinal, &name); err == nil {
		for _, kind := range hopperTypes {
			if kind.String() == name {
				return Try(o, kind)
			}
		}
	}
	return fmt.Errorf("%s=%s: there is no such trial", trialVariable, what)
}

// Try compares Hopper's products of a type with those that run on every device,
// on a device that it opens for that. A fault ends the use of the device in this
// process.
func Try(o Options, kind device.DType) (err error) {
	o.OwnProducts = true
	d, err := Open(o)
	if err != nil {
		return err
	}
	defer func() {
		if failed := d.Close(); err == nil {
			err = failed
		}
	}()
	return d.compareHopper(kind)
}

// tryInProcess is Try in a process of its own.
func tryInProcess(ordinal int, kind device.DType) error {
	if !hasTrials {
		return errors.New("this program tries no kernels")
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return runTrial(exec.Command(program), fmt.Sprintf("%d %v", ordinal, kind), trialLimit)
}

// runTrial starts a process, waits for it and returns why it failed.
func runTrial(p *exec.Cmd, what string, limit time.Duration) error {
	var said bytes.Buffer
	p.Stdout, p.Stderr = &said, &said
	p.Env = append(os.Environ(), trialVariable+"="+what)
	p.WaitDelay = time.Second
	_, err := p.StdinPipe() // it is open until the trial or this process ends
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		return fmt.Errorf("starting the trial: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = p.Process.Kill() }) // it may have ended
	defer stop()
	err = p.Wait()
	line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("the trial did not end within %v", limit)
	case line != "":
		return errors.New(line)
	}
	return fmt.Errorf("the trial: %w", err)
}
