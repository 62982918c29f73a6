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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/memtop/memtop/cmd/tools/terminal"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/snapshots/trace"
)

// pace is how a made program makes steps.
type pace struct {
	rate   int // steps a second
	blocks int // that each takes one after the other, and gives back
}

// paces are a program of small steps, each with as many events as a step of the smallest
// model that memtrain has, and one as the demo is on two cores of its own: what it sends
// to the screen does not depend on what else the machine does.
var paces = []pace{{3000, 17}, {9, 200}}

// steps measures a screen that follows made programs, each a process of its own.
func steps(ctx context.Context, o options) error {
	for _, p := range paces {
		if err := p.measure(ctx, o); err != nil {
			return fmt.Errorf("%d steps a second: %w", p.rate, err)
		}
	}
	return nil
}

func (p pace) measure(ctx context.Context, o options) (err error) {
	folder, err := os.MkdirTemp("", "benchlive")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(20*o.seconds+60)*time.Second)
	defer cancel() // which ends the program too
	socket := filepath.Join(folder, "p.sock")
	if _, err := startSelf(ctx, &all, "-stepper", socket, "-rate", strconv.Itoa(p.rate), "-blocks", strconv.Itoa(p.blocks)); err != nil {
		return err
	}
	for _, s := range o.sizes {
		if err := p.measureAt(ctx, o, s, socket); err != nil {
			return fmt.Errorf("%d×%d: %w", s.w, s.h, err)
		}
	}
	return nil
}

// measureAt measures one size of the screen, and what the viewer costs the program
// meanwhile by the program's own account.
func (p pace) measureAt(ctx context.Context, o options, s size, socket string) (err error) {
	command := exec.CommandContext(ctx, o.memtop, "attach", socket, "--interval", "100ms")
	t, err := terminal.Start(command, s.w, s.h)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave(ctx, t)) }()
	if err := t.Until(ctx, func(text string) bool { return strings.Contains(text, "peak allocated") }); err != nil {
		return err
	}
	fmt.Printf("%d steps/s at %d×%d      bytes/s   memtop's share of a core\n", p.rate, s.w, s.h)
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

// be is the program: it makes as many events as are due, evenly over each step.
func (p pace) be(ctx context.Context, socket string) error {
	program := newProgram()
	l, err := probe.Listen(ctx, probe.Options{Program: "benchlive", Path: socket}, program)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // it ends with the process
	fmt.Println("listening")
	settings, each := stepSettings(), int64(3*p.blocks+2)
	began, made := time.Now(), int64(0)
	for pause(ctx, time.Millisecond) == nil {
		for due := int64(time.Since(began).Seconds() * float64(p.rate) * float64(each)); made < due; made++ {
			number := made/each + 1
			program.part(number, int(made%each), p.blocks)
			if (made+1)%each == 0 {
				l.Step(p.step(number, settings))
			}
		}
	}
	return nil
}

// step is what a step says of itself.
func (p pace) step(number int64, settings []trace.Value) trace.Step {
	const kept = 20 << 20
	peak := int64(kept + p.blocks*block)
	s := trace.Step{
		Number: number, Time: time.Now().UnixMicro(), Duration: int64(1e9) / int64(p.rate) * (900 + number*7919%200) / 1000, Tokens: 32, Loss: 1 + math.Exp(-float64(number)/1e5),
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
