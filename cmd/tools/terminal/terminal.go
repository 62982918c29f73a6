// Package terminal runs a program in a pseudo-terminal and reads its screen, as a
// person would. The end-to-end test and the benchmark of memtop use it; memtop
// itself does not.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/creack/pty"
)

// Terminal is a program that runs on a screen. Only one goroutine at a time may
// call its methods.
type Terminal struct {
	cmd    *exec.Cmd
	pty    *os.File
	screen *screen
	done   chan struct{} // closed by follow when the program's output ends

	written atomic.Int64
	mu      sync.Mutex
	changed chan struct{} // closed and replaced by follow when output came
}

// Start runs cmd on a screen of w×h cells. Its standard input is the terminal
// unless cmd says otherwise; either way the terminal is its controlling one. The
// caller must call Wait.
func Start(cmd *exec.Cmd, w, h int) (*Terminal, error) { return StartWatched(cmd, w, h, io.Discard) }

// StartWatched is Start, and also passes the program's output to watch, byte for
// byte, before it is drawn. After Wait has returned, watch gets no more output.
func StartWatched(cmd *exec.Cmd, w, h int, watch io.Writer) (*Terminal, error) {
	if cmd.Env == nil {
		cmd.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor")
	}
	if cmd.Stdin != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Ctty: 1} // standard output is the terminal
	}
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)})
	if err != nil {
		return nil, fmt.Errorf("starting %s in a pseudo-terminal: %w", cmd.Path, err)
	}
	t := &Terminal{
		cmd: cmd, pty: f, done: make(chan struct{}), changed: make(chan struct{}),
		screen: newScreen(w, h, f),
	}
	go t.follow(watch)
	return t, nil
}

// follow draws the program's output until it ends. Wait waits for follow.
func (t *Terminal) follow(watch io.Writer) {
	defer close(t.done)
	buf := make([]byte, 64<<10)
	for {
		n, err := t.pty.Read(buf)
		if n > 0 {
			_, _ = watch.Write(buf[:n]) // whoever watches keeps the error
			t.written.Add(int64(n))
			_, _ = t.screen.Write(buf[:n]) // it cannot fail before it is closed
			t.mu.Lock()
			close(t.changed)
			t.changed = make(chan struct{})
			t.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// Written returns how many bytes the program has written so far.
func (t *Terminal) Written() int64 { return t.written.Load() }

// Text returns the screen's rows, without colours, trailing blanks cut.
func (t *Terminal) Text() string { return t.screen.text() }

// Until waits until the screen's text satisfies ok.
func (t *Terminal) Until(ctx context.Context, ok func(text string) bool) error {
	for {
		t.mu.Lock()
		changed := t.changed
		t.mu.Unlock()
		if ok(t.Text()) {
			return nil
		}
		select {
		case <-changed:
		case <-t.done:
			if ok(t.Text()) {
				return nil
			}
			return errors.New("the program ended before its screen showed what was awaited")
		case <-ctx.Done():
			return fmt.Errorf("the screen never showed what was awaited: %w", ctx.Err())
		}
	}
}

// Press types keys, given as the bytes that a terminal sends for them.
func (t *Terminal) Press(keys string) error {
	_, err := io.WriteString(t.pty, keys)
	return err
}

// Resize changes the size of the screen and tells the program.
func (t *Terminal) Resize(w, h int) error {
	t.screen.Resize(w, h)
	return pty.Setsize(t.pty, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)})
}

// Wait waits for the program to end and returns its exit code and the most
// memory it had, in bytes.
func (t *Terminal) Wait(ctx context.Context) (code int, peak int64, err error) {
	stop := context.AfterFunc(ctx, func() { _ = t.cmd.Process.Kill() }) // it may have ended
	defer stop()
	err = t.cmd.Wait()
	<-t.done
	err = errors.Join(err, t.pty.Close())
	t.screen.close()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("the program did not end: %w", ctx.Err())
	}
	return t.cmd.ProcessState.ExitCode(), PeakMemory(t.cmd.ProcessState), err
}

// PeakMemory returns the most memory that an ended process had resident, in
// bytes, mapped files included.
func PeakMemory(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10
}

// Kill ends the program at once. The caller must still call Wait.
func (t *Terminal) Kill() error { return t.cmd.Process.Kill() }
