package attach

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// sentAtLast is the variable that makes this test binary a program that ends as it
// answers, and what it sends before.
const sentAtLast = "MEMTOP_TEST_SENT_AT_LAST"

// TestProgramThatEndsAsItAnswers is no test but that program.
func TestProgramThatEndsAsItAnswers(t *testing.T) {
	text, is := os.LookupEnv(sentAtLast)
	if !is {
		t.Skip("it is run by other tests")
	}
	listener, err := net.Listen("unix", filepath.Join(os.Getenv("MEMTOP_DIR"), ownName(t)))
	must(t, err)
	fmt.Println("listening", os.Getpid())
	for {
		conn, err := listener.Accept()
		must(t, err)
		if n, _ := conn.Read(make([]byte, 4096)); n == 0 {
			continue // who only looks who listens
		}
		_, _ = conn.Write([]byte(text))
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

func TestAProgramThatEndsAsItAnswersIsNotThere(t *testing.T) {
	for name, text := range map[string]string{
		"without a word":    "",
		"within the header": "HTTP/1.1 200 O",
		"within the body":   "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
		"within a chunk":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n{",
		"within a refusal":  "HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			folder := shortFolder(t)
			t.Setenv("MEMTOP_DIR", folder)
			command := exec.CommandContext(t.Context(), executable(t), "-test.run=^TestProgramThatEndsAsItAnswers$")
			command.Env = append(os.Environ(), sentAtLast+"="+text)
			stdout, err := command.StdoutPipe()
			if err == nil {
				err = command.Start()
			}
			must(t, err)
			t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
			if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			pid := strconv.Itoa(command.Process.Pid)
			_, err = Here.Record(t.Context(), pid, RecordOptions{})
			if kindOf(err) != "not found" || err.Error() != "there is no process "+pid {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestASocketThatGoesWhileItIsDialledWasTheProbes(t *testing.T) {
	folder := shortFolder(t)
	gone := endpoint{folder: folder, name: "1-2.sock", pid: os.Getpid(), uid: os.Getuid()}
	for name, test := range map[string]struct {
		of   endpoint
		want string
	}{
		"of a process that was found": {gone, fmt.Sprintf("process %d has no probe", gone.pid)},
		"that was named":              {endpoint{folder: folder, name: gone.name, pid: gone.pid, uid: gone.uid, given: true}, "there is no socket " + gone.path()},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := test.of.connect(t.Context())
			if err = test.of.orLeft(err); err.Error() != test.want {
				t.Errorf("the error is %q, want %q", err, test.want)
			}
		})
	}
}
