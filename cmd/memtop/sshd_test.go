package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// sshd is a host that ssh gets to over a wire that can be cut: for each connection a
// real sshd, of this user, with keys made for the test. It listens on no port: ssh's
// ProxyCommand comes by a socket.
type sshd struct {
	t       *testing.T
	config  string // of sshd
	program string
	all     sync.WaitGroup

	mu    sync.Mutex
	cut   chan struct{} // nil while the wire is whole; closed when it is again
	conns map[net.Conn]bool
}

// sshing starts a host that memtop's ssh gets to by any name, until the test ends, and
// sets MEMTOP_SSH to an ssh that knows it. A test is skipped where there is no sshd.
func sshing(t *testing.T) *sshd {
	t.Helper()
	h := &sshd{t: t, program: sshdProgram(t), conns: make(map[net.Conn]bool)}
	folder, err := os.MkdirTemp("", "memtop") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	at := func(name string) string { return filepath.Join(folder, name) }
	for _, key := range []string{"host", "user"} {
		if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at(key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	key := contents(t, at("host.pub"))
	h.config = at("sshd_config")
	for name, text := range map[string]string{
		"known_hosts": "gpu7 " + string(key),
		"sshd_config": fmt.Sprintf("HostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\n", at("host"), at("user.pub")),
		"ssh_config": fmt.Sprintf("Host *\n  HostKeyAlias gpu7\n  User %s\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n  GlobalKnownHostsFile none\n  StrictHostKeyChecking yes\n  ProxyCommand %s %s\n",
			who.Username, at("user"), at("known_hosts"), at("through"), at("wire")),
		"ssh": fmt.Sprintf("#!/bin/sh\nexec ssh -F %s \"$@\"\n", at("ssh_config")),
	} {
		if err := os.WriteFile(at(name), []byte(text), 0o700); err != nil { //nolint:gosec // a script is to be run
			t.Fatal(err)
		}
	}
	for _, name := range []string{"through", "memtop"} {
		if err := os.Symlink(self, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("MEMTOP_SSH", at("ssh"))
	t.Setenv("MEMTOP_REMOTE_MEMTOP", at("memtop"))
	l, err := net.Listen("unix", at("wire"))
	if err != nil {
		t.Fatal(err)
	}
	h.all.Go(func() { h.serve(l) })
	t.Cleanup(func() { _ = l.Close(); h.join(); h.hangUp(); h.all.Wait() })
	return h
}

// sshdProgram returns where sshd is.
func sshdProgram(t *testing.T) string {
	t.Helper()
	for _, path := range []string{"/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/libexec/sshd"} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if _, err := os.Stat("/run/sshd"); err != nil && os.Geteuid() == 0 {
			t.Skip("root's sshd needs the folder /run/sshd: mkdir /run/sshd")
		}
		return path
	}
	t.Skip("there is no sshd: apt-get install openssh-server")
	return ""
}

// through joins standard input and output with the socket that is named, as nc does.
func through() {
	conn, err := net.Dial("unix", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.Close()
	}()
	_, _ = io.Copy(os.Stdout, conn)
	os.Exit(0)
}

// serve starts an sshd for each connection.
func (h *sshd) serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		h.mu.Lock()
		h.conns[conn] = true
		h.mu.Unlock()
		h.all.Go(func() { h.session(conn) })
	}
}

// session is one sshd and its connection. It ends with either.
func (h *sshd) session(conn net.Conn) {
	cmd := exec.Command(h.program, "-i", "-e", "-q", "-f", h.config) //nolint:noctx // its connection's end ends it
	in, err := cmd.StdinPipe()
	if err != nil {
		h.t.Error(err)
		return
	}
	cmd.Stdout, cmd.Stderr = wired{h, conn}, io.Discard
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		h.t.Error(err)
		return
	}
	var copied sync.WaitGroup
	copied.Go(func() {
		_, _ = io.Copy(wired{h, in}, conn)
		_ = in.Close()
	})
	_ = cmd.Wait()
	_ = conn.Close()
	copied.Wait()
}

// wired holds back what is written while the wire is cut.
type wired struct {
	*sshd
	io.Writer
}

// Write waits until the wire is whole.
func (w wired) Write(p []byte) (int, error) {
	w.mu.Lock()
	cut := w.cut
	w.mu.Unlock()
	if cut != nil {
		<-cut
	}
	return w.Writer.Write(p)
}

// sever cuts the wire: nothing goes through, and nothing says so.
func (h *sshd) sever() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cut == nil {
		h.cut = make(chan struct{})
	}
}

// join makes the wire whole.
func (h *sshd) join() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cut != nil {
		close(h.cut)
		h.cut = nil
	}
}

// hangUp ends all connections, as a host that goes down does.
func (h *sshd) hangUp() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for conn := range h.conns {
		_ = conn.Close()
		delete(h.conns, conn)
	}
}

// TestSSHAsItIsUsed is that the host of these tests is one.
func TestSSHAsItIsUsed(t *testing.T) {
	sshing(t)
	out, err := exec.CommandContext(t.Context(), os.Getenv("MEMTOP_SSH"), "gpu7", "echo", "it is there").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "it is there" {
		t.Fatalf("%v: %s", err, out)
	}
}
