// Picture runs memtop on a screen, types keys, and writes the screen's content as
// an SVG file. It makes the pictures in docs:
//
//	go run ./cmd/tools/picture -memtop bin/memtop -ready 'Who held the rest' -o docs/overview.svg cmd/memtop/testdata/tiny_training.pickle
//
// With -script it records a session instead, and with -cast it turns a recording
// into an animated SVG file: make demo-recording and make demo-picture.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/memtop/memtop/cmd/tools/terminal"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run() error {
	memtop := flag.String("memtop", "bin/memtop", "the program")
	width := flag.Int("width", 100, "columns")
	height := flag.Int("height", 30, "rows")
	ready := flag.String("ready", "What stands out", "text that says the file is open")
	keys := flag.String("keys", "", "keys to press then")
	see := flag.String("see", "", "text to wait for after that")
	output := flag.String("o", "screen.svg", "the SVG file")
	script := flag.String("script", "", "a session to record; -o is the recording, and FILE is oom.pickle there")
	cast := flag.String("cast", "", "a recording to draw")
	flag.Parse()
	switch {
	case *cast != "":
		return animate(*cast, *output)
	case *script != "":
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		return record(ctx, *script, *memtop, flag.Arg(0), *output, *width, *height)
	}

	command := exec.Command(*memtop, append([]string{"open"}, flag.Args()...)...)
	command.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=")
	screen, err := terminal.Start(command, *width, *height)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = draw(ctx, screen, *ready, *keys, *see, *output)
	if sendErr := screen.Press("q"); err == nil {
		err = sendErr
	}
	_, _, waitErr := screen.Wait(ctx)
	if err == nil {
		err = waitErr
	}
	return err
}

func draw(ctx context.Context, screen *terminal.Terminal, ready, keys, see, output string) error {
	if err := screen.Until(ctx, contains(ready)); err != nil {
		return err
	}
	if err := screen.Press(keys); err != nil {
		return err
	}
	if err := screen.Until(ctx, contains(see)); err != nil {
		return err
	}
	f, err := os.Create(output)
	if err != nil {
		return err
	}
	if err := screen.SVG(f); err != nil {
		return err
	}
	return f.Close()
}

func contains(text string) func(string) bool {
	return func(screen string) bool { return strings.Contains(screen, text) }
}
