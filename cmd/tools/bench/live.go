package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// live measures memtop's promises for a live screen. First memtop attaches to its
// own demo, page by page, following and frozen. Then this process is the program,
// and waits for its allocations to appear on the screen. Then memtop follows
// programs that take steps.
func live(ctx context.Context, o *options) (err error) {
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	sizes := []size{{80, 24}, {120, 40}}
	for _, part := range []struct {
		name    string
		measure func(context.Context, *options, string, []size) error
	}{{"pages", pages}, {"latency", latency}, {"steps", steps}, {"ranks", ranks}} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !o.wants(part.name) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, 40*o.length+5*time.Minute)
		err := part.measure(limited, o, folder, sizes)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// pages measures every page of the demo.
func pages(ctx context.Context, o *options, _ string, sizes []size) error {
	for _, s := range sizes {
		if err := demo(ctx, o, s); err != nil {
			return fmt.Errorf("%d×%d: %w", s.w, s.h, err)
		}
	}
	return nil
}

var stepShown = regexp.MustCompile(`· step (\d+) `)

func demo(ctx context.Context, o *options, s size) (err error) {
	begun := func(text string) bool { // a screen may leave steps out
		found := stepShown.FindStringSubmatch(text)
		if found == nil {
			return false
		}
		n, _ := strconv.Atoi(found[1])
		return n >= 20
	}
	m, err := o.show(ctx, s, begun, "demo")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.leave(ctx)) }()
	t := newSharesTable(fmt.Sprintf("demo at %d×%d", s.w, s.h))
	for _, number := range "12345678" {
		if err := m.shares(ctx, o, t, string(number), "page "+string(number)); err != nil {
			return err
		}
	}
	if err := m.Press("1 "); err != nil {
		return err
	}
	if err := m.Until(ctx, func(text string) bool { return strings.Contains(text, "frozen") }); err != nil {
		return err
	}
	return m.shares(ctx, o, t, "", "page 1 frozen")
}

// latency measures how long an allocation takes to appear on the screen, at
// moments that do not depend on the screen's updates.
func latency(ctx context.Context, o *options, folder string, _ []size) (err error) {
	p, err := newMade(ctx, &options{own: -1, rest: filepath.Join(folder, "latency.sock")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.probe.Close()) }()
	blocks := 0
	another := func() func(text string) bool {
		p.take(1<<20, p.tags[0])
		blocks++
		want := fmt.Sprintf("%d.0 MiB", blocks)
		return func(text string) bool {
			_, after, _ := strings.Cut(text, "allocated")
			return strings.HasPrefix(strings.TrimLeft(after, " "), want)
		}
	}
	m, err := o.show(ctx, size{80, 24}, another(), "attach", p.probe.Path())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.leave(ctx)) }()
	var took []time.Duration
	for range 60 { // allocations that are awaited on the screen
		if err := pause(ctx, 150*time.Millisecond+rand.N(200*time.Millisecond)); err != nil {
			return err
		}
		began := time.Now()
		if err := m.Until(ctx, another()); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	n := len(took)
	t := newTable(os.Stdout, "from an allocation to the screen", "median", "95% within", "longest")
	t.row(fmt.Sprintf("%d times", n), milliseconds(took[n/2]), milliseconds(took[n*95/100]), milliseconds(took[n-1]))
	return nil
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

// paces are the paces of two programs. One has small steps, each with as many
// events as a step of memtrain's smallest model. The other resembles the demo on
// two cores of its own. Their events do not depend on other load on the machine.
var paces = []struct{ rate, blocks int }{{3000, 17}, {9, 200}}

// steps measures a screen that follows programs which make steps, each a process of its
// own.
func steps(ctx context.Context, o *options, folder string, sizes []size) error {
	for _, p := range paces {
		socket := filepath.Join(folder, fmt.Sprintf("%d.sock", p.rate))
		r, err := start(ctx, "program", "-layers", "1", "-rate", strconv.Itoa(p.rate), "-blocks", strconv.Itoa(p.blocks), socket)
		if err != nil {
			return err
		}
		defer r.end()
		for _, s := range sizes {
			if err := stepsAt(ctx, o, s, p.rate, socket); err != nil {
				return fmt.Errorf("%d a second at %d×%d: %w", p.rate, s.w, s.h, err)
			}
		}
		r.end()
	}
	return nil
}

// stepsAt measures one size of the screen, and the viewer's cost for the program
// as the program itself reports it.
func stepsAt(ctx context.Context, o *options, s size, rate int, socket string) (err error) {
	shown := func(text string) bool { return strings.Contains(text, "peak allocated") }
	m, err := o.show(ctx, s, shown, "attach", socket, "--interval", "100ms")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.leave(ctx)) }()
	before, first := accountOf(ctx, socket)
	measured := m.shares(ctx, o, newSharesTable(fmt.Sprintf("%d steps/s at %d×%d", rate, s.w, s.h)), "", "page 1")
	after, last := accountOf(ctx, socket)
	if err := errors.Join(first, measured, last); err != nil {
		return err
	}
	took := after.at.Sub(before.at).Seconds()
	t := newTable(os.Stdout, "  by the program's own account", "steps/s", "its probe", "its viewer")
	t.row("", fmt.Sprintf("%.0f", float64(after.Step-before.Step)/took),
		fmt.Sprintf("%.2f%%", float64(after.ProbeNS-before.ProbeNS)/took/1e7), fmt.Sprintf("%.2f%%", float64(after.ViewersNS-before.ViewersNS)/took/1e7))
	return nil
}

// account is a program's report on itself in /v1/info.
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

// ranks measures a screen that follows a job of many ranks, each a process of its own.
func ranks(ctx context.Context, o *options, folder string, _ []size) (err error) {
	if err := os.Setenv("MEMTOP_DIR", folder); err != nil {
		return err
	}
	pid := 0
	for i := range o.ranks {
		r, err := start(ctx, "program", "-layers", "1", "-rate", "10", "-blocks", strconv.Itoa(1+i%8), "-ranks", strconv.Itoa(o.ranks), "-rank", strconv.Itoa(i))
		if err != nil {
			return err
		}
		defer r.end()
		pid = r.command.Process.Pid
	}
	title := strconv.Itoa(o.ranks) + " ranks"
	shown := func(text string) bool {
		return strings.Contains(text, "Ranks of bench") && strings.Contains(text, title)
	}
	m, err := o.show(ctx, size{200, 60}, shown, "attach", strconv.Itoa(pid), "--interval", "100ms")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.leave(ctx)) }()
	t := newSharesTable(title + " at 200×60")
	return errors.Join(m.shares(ctx, o, t, "", "page 9"), m.shares(ctx, o, t, "1", "page 1 of a rank"))
}
