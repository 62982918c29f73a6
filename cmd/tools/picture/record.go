package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/memtop/memtop/cmd/tools/terminal"
)

// The times of a recording, in seconds.
const (
	keystroke = 0.06 // for a letter of a command
	sample    = 0.5  // between two looks at a screen that changes by itself
)

// record plays a script in a shell, in a folder with memtop and a file that is called
// oom.pickle there, and writes the recording. A line of a script is
//
//	type TEXT       into the shell, letter by letter, with Enter
//	press KEYS      without waiting
//	see TEXT        wait until the screen shows it
//	hold SECONDS    the screen as it is
//	live SECONDS    the screen as it changes
func record(ctx context.Context, script, memtop, file, output string, width, height int) (err error) {
	folder, err := os.MkdirTemp("", "memtop")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	memtop, err = filepath.Abs(memtop)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(filepath.Join(folder, "oom.pickle"), content, 0o600), os.Symlink(memtop, filepath.Join(folder, "memtop"))); err != nil {
		return err
	}
	shell := exec.CommandContext(ctx, "sh", "-i")
	shell.Dir = folder
	shell.Env = []string{
		"PATH=" + folder + ":/usr/bin:/bin", "HOME=" + folder, "PS1=$ ", "TERM=xterm-256color", "LANG=C.UTF-8", "TZ=UTC",
		"MEMTOP_DIR=" + folder, "XDG_STATE_HOME=" + folder, "XDG_CACHE_HOME=" + folder,
	}
	r := terminal.NewRecorder(width, height)
	screen, err := terminal.StartWatched(shell, width, height, r)
	if err != nil {
		return err
	}
	err = play(ctx, script, screen, r)
	if err != nil {
		_ = screen.Kill() // it may have ended
	}
	_, _, waitErr := screen.Wait(ctx)
	if err := errors.Join(err, waitErr); err != nil {
		return err
	}
	f, err := os.Create(output)
	if err != nil {
		return err
	}
	return errors.Join(r.Cast().Write(f), f.Close())
}

// play plays a script and then ends the shell, without recording that.
func play(ctx context.Context, script string, screen *terminal.Terminal, r *terminal.Recorder) error {
	f, err := os.Open(script)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		if verb == "" || verb == "#" {
			continue
		}
		if err := step(ctx, verb, rest, screen, r); err != nil {
			return fmt.Errorf("%s: %w; the screen is\n%s", lines.Text(), err, screen.Text())
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return screen.Press("exit\r")
}

func step(ctx context.Context, verb, rest string, screen *terminal.Terminal, r *terminal.Recorder) error {
	switch verb {
	case "type":
		for i := range rest {
			typed := strings.TrimRight(rest[:i+1], " ")
			if err := errors.Join(screen.Press(rest[i:i+1]), screen.Until(ctx, contains(typed))); err != nil {
				return err
			}
			r.Show(keystroke)
		}
		return screen.Press("\r")
	case "press":
		return screen.Press(rest)
	case "see":
		return errors.Join(screen.Until(ctx, contains(rest)), r.Settle(ctx))
	case "hold", "live":
		seconds, err := strconv.ParseFloat(rest, 64)
		if err != nil {
			return err
		}
		if verb == "hold" {
			r.Show(seconds)
			return nil
		}
		return live(ctx, seconds, r)
	default:
		return fmt.Errorf("there is no %q", verb)
	}
}

// live records the screen for a number of real seconds.
func live(ctx context.Context, seconds float64, r *terminal.Recorder) error {
	look := time.NewTicker(time.Duration(sample * float64(time.Second)))
	defer look.Stop()
	for ; seconds > 0; seconds -= sample {
		r.Show(sample)
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// animate turns a recording into an animated picture.
func animate(cast, output string) error {
	in, err := os.Open(cast)
	if err != nil {
		return err
	}
	defer in.Close()
	c, err := terminal.ReadCast(in)
	if err != nil {
		return err
	}
	out, err := os.Create(output)
	if err != nil {
		return err
	}
	return errors.Join(c.SVG(out), out.Close())
}
