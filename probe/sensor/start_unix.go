//go:build unix

package sensor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/memtop/memtop/probe/protocol"
)

// # A host process
//
// A host must be no child of the program: the program would learn of its end. So memtop
// starts itself as a starter, which starts memtop once more as the host, in a session
// of its own, passes on what that prints, and ends. The host prints one line: the path
// of its socket, or why there is none.

// The names under which memtop starts itself. The folder of the sockets and the process
// whose programs it serves follow, 0 for none.
const (
	Starter = "memtop-host"
	Server  = "memtop-serves"
)

// startWithin is how long a host may take to begin.
const startWithin = 10 * time.Second

// Start starts a host for the programs that the process root becomes or starts, and
// returns the path of its socket. With root 0, the host is for the programs that come
// soon. An empty folder is that of [protocol.Folder].
func Start(ctx context.Context, folder string, root int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if os.Args[0] == Starter || os.Args[0] == Server {
		return "", errors.New("this program does not serve as memtop's host")
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = []string{Starter, folder, strconv.Itoa(root)}
	printed, err := cmd.Output()
	path, isPath := bytes.CutPrefix(bytes.TrimSpace(printed), []byte(Variable+"="))
	switch {
	case isPath:
		return string(path), nil
	case len(printed) > 0:
		return "", errors.New(string(bytes.TrimSpace(printed)))
	}
	return "", fmt.Errorf("memtop's host did not begin: %w", err)
}

// Attend handles a memtop that was started as a host, and ends the process. In every
// other process it returns at once. Call it before anything else.
func Attend() {
	if len(os.Args) != 3 || os.Args[0] != Starter && os.Args[0] != Server {
		return
	}
	work := begin
	if os.Args[0] == Server {
		work = serve
	}
	if err := work(os.Args[1], os.Args[2]); err != nil {
		fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
	}
	os.Exit(0)
}

// begin starts the host, and passes on its line.
func begin(folder, root string) error {
	cmd := exec.Command("/proc/self/exe") //nolint:noctx // it outlives this process
	cmd.Args = []string{Server, folder, root}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	line, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	text, err := bufio.NewReader(line).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_, err = os.Stdout.WriteString(text)
	return err
}

// serve is the host.
func serve(folder, root string) error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if folder == "" {
		folder = protocol.Folder()
	}
	pid, err := strconv.Atoi(root)
	if err != nil {
		return err
	}
	h, err := Listen(folder, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if _, err := fmt.Printf("%s=%s\n", Variable, h.Path()); err != nil {
		return err
	}
	ctx, done := context.WithCancel(ctx)
	go func() {
		h.Until(ctx, pid, startWithin)
		done()
	}()
	return h.Serve(ctx)
}
