// Package assistant answers an assistant's questions about the snapshots of one
// folder, over the Model Context Protocol on standard input and output.
//
// Each question becomes a command of memtop that a user could type, run in a process
// of its own: a question that takes too long is ended with its process, and what one
// costs is gone with it. The package decides which questions there are and which files
// they may name. It reads no snapshot itself.
package assistant

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/snapshots/trace"
)

// Limits of a session.
const (
	mostRequest  = 1 << 20          // bytes of a message
	mostAnswer   = 64 << 10         // bytes of an answer
	patience     = 5 * time.Minute  // for a question about files
	morePatience = 30 * time.Minute // for a rehearsal
	atOnce       = 2                // questions that are answered at the same time
)

// Options say what an assistant may do.
type Options struct {
	Folder   string // whose files may be asked about
	Rehearse bool   // whether it may run commands in the folder
	Version  string // of memtop
}

// Serve answers until the input ends or ctx is done.
func Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser, o Options) error {
	path, err := filepath.Abs(o.Folder)
	if err != nil {
		return err
	}
	folder, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer folder.Close() // it was only read from
	memtop, err := os.Executable()
	if err != nil {
		return err
	}
	s := &server{folder: folder, memtop: memtop, turns: make(chan struct{}, atOnce)}
	m := mcp.NewServer(&mcp.Implementation{Name: "memtop", Version: o.Version}, &mcp.ServerOptions{Instructions: instructions, Capabilities: &mcp.ServerCapabilities{}})
	s.addQuestions(m)
	if o.Rehearse {
		s.addRehearsal(m)
	}
	err = m.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: mostRequest})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// server runs memtop for questions. It is safe for concurrent use.
type server struct {
	folder *os.Root
	memtop string // this program
	turns  chan struct{}
}

// answer runs memtop on open files and returns what it prints, as text for the
// assistant. A command that printed nothing but a failure is an error.
func (s *server) answer(ctx context.Context, patience time.Duration, files []*os.File, args ...string) (*mcp.CallToolResult, any, error) {
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	args = slices.DeleteFunc(args, func(arg string) bool { return arg == "" })
	asked := exec.CommandContext(ctx, s.memtop, args...)
	hand(asked, files)
	asked.Dir = s.folder.Name()
	printed, failure := &bounded{most: mostAnswer}, &bounded{most: mostAnswer / 16}
	asked.Stdout, asked.Stderr = printed, failure
	asked.Cancel = func() error { return asked.Process.Signal(os.Interrupt) }
	asked.WaitDelay = 5 * time.Second
	ended, err := command.Start(asked)
	if err == nil {
		err = <-ended
	}
	text := printed.String() + failure.String()
	switch {
	case ctx.Err() != nil:
		return nil, nil, fmt.Errorf("no answer within %v", patience)
	case err != nil && printed.total == 0:
		return nil, nil, errors.New(trace.PrintableLines(text))
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: trace.PrintableLines(text)}}}, nil, nil
}

// hand gives a command open files, as its last arguments.
func hand(asked *exec.Cmd, files []*os.File) {
	for i, f := range files {
		path := fmt.Sprintf("/dev/fd/%d", 3+i)
		if runtime.GOOS == "windows" {
			path = f.Name() // Windows hands no open files on, and lets few users make links
		}
		asked.Args = append(asked.Args, path)
	}
	if runtime.GOOS != "windows" {
		asked.ExtraFiles = files
	}
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	most, total int
	kept        []byte
}

func (b *bounded) Write(p []byte) (int, error) {
	b.total += len(p)
	b.kept = append(b.kept, p[:min(len(p), b.most-len(b.kept))]...)
	return len(p), nil
}

// String returns what was kept, and says how much was not.
func (b *bounded) String() string {
	if left := b.total - len(b.kept); left > 0 {
		return fmt.Sprintf("%s\n[%d more bytes left out: ask for less]\n", b.kept, left)
	}
	return string(b.kept)
}
