package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/memtop/memtop/cmd/memtop/terminal"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/snapshots/trace"
)

// stepsPerSecond is how fast the made program of small steps is, and stepBlocks how many
// blocks each of them takes and gives back: together as many events as a step of
// the smallest model that memtrain has.
const (
	stepsPerSecond = 3000
	stepBlocks     = 17
)

// steps measures a screen that follows a program of small steps, a process of its own.
func steps(ctx context.Context, o options) (err error) {
	folder, err := os.MkdirTemp("", "benchlive")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(20*o.seconds+60)*time.Second)
	defer cancel() // which ends the program too
	socket := filepath.Join(folder, "p.sock")
	if _, err := startSelf(ctx, "-stepper", socket); err != nil {
		return err
	}
	for _, s := range o.sizes {
		if err := stepsAt(ctx, o, s, socket); err != nil {
			return fmt.Errorf("%d steps a second at %d×%d: %w", stepsPerSecond, s.w, s.h, err)
		}
	}
	return nil
}

// stepsAt measures one size of the screen, and what the viewer costs the program
// meanwhile by the program's own account.
func stepsAt(ctx context.Context, o options, s size, socket string) (err error) {
	command := exec.CommandContext(ctx, o.memtop, "attach", socket, "--interval", "100ms")
	t, err := terminal.Start(command, s.w, s.h)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave(ctx, t)) }()
	if err := t.Until(ctx, func(text string) bool { return strings.Contains(text, "peak allocated") }); err != nil {
		return err
	}
	fmt.Printf("%d steps/s at %d×%d      bytes/s   memtop's share of a core\n", stepsPerSecond, s.w, s.h)
	before, err := accountOf(ctx, socket)
	if err != nil {
		return err
	}
	if err := one(ctx, t, command, o, "", "page 1"); err != nil {
		return err
	}
	after, err := accountOf(ctx, socket)
	if err != nil {
		return err
	}
	took := after.at.Sub(before.at).Seconds()
	fmt.Printf("  by its own account the program made %.0f steps/s, spent %.2f%% of a core on them for its probe, and %.2f%% on its viewer\n",
		float64(after.Step-before.Step)/took, float64(after.ProbeNS-before.ProbeNS)/took/1e7, float64(after.ViewersNS-before.ViewersNS)/took/1e7)
	return nil
}

// account is what a program says of itself in /v1/info.
type account struct {
	Step      int64 `json:"step"`
	ProbeNS   int64 `json:"probe_ns"`
	ViewersNS int64 `json:"viewers_ns"`
	at        time.Time
}

func accountOf(ctx context.Context, socket string) (a account, err error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	client := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://memtop/v1/info", http.NoBody)
	if err != nil {
		return a, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	a.at = time.Now()
	return a, json.NewDecoder(answer.Body).Decode(&a)
}

// beStepper is the program: as many small steps a second as it should make.
func beStepper(ctx context.Context, socket string) error {
	p := newProgram()
	l, err := probe.Listen(ctx, probe.Options{Program: "benchlive", Path: socket}, p)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // it ends with the process
	fmt.Println("listening")
	settings := stepSettings()
	began, made := time.Now(), int64(0)
	for pause(ctx, time.Millisecond) == nil {
		for due := int64(time.Since(began).Seconds() * stepsPerSecond); made < due; {
			made++
			p.step(made)
			l.Step(smallStep(made, settings))
		}
	}
	return nil
}

// smallStep is what a step of a small model says of itself.
func smallStep(number int64, settings []trace.Value) trace.Step {
	const kept = 20 << 20
	peak := int64(kept + stepBlocks*block)
	s := trace.Step{
		Number: number, Time: time.Now().UnixMicro(), Duration: 50_000 + number*7919%20_000, Tokens: 32, Loss: 1 + math.Exp(-float64(number)/1e5),
		Allocated: kept, Reserved: capacity * block, PeakAllocated: peak, PeakReserved: capacity * block, Settings: settings, ProbeNS: 1000 + number%500,
	}
	for c := range trace.CategoryCount {
		name := trace.Category(c).String()
		s.Categories = append(s.Categories, trace.Amount{Name: name, Bytes: int64(c) << 20})
		s.AtPeak = append(s.AtPeak, trace.Amount{Name: name, Bytes: int64(c)<<20 + number%16<<10})
	}
	return s
}

// stepSettings are as many as memtrain has.
func stepSettings() []trace.Value {
	var list []trace.Value
	for i := range 18 {
		list = append(list, trace.Value{Key: fmt.Sprintf("setting_%02d", i), Value: "on"})
	}
	return list
}
