package torchrun

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asProcess makes this test's program one that torchrun has started.
const asProcess = "MEMTOP_TEST_PROCESS"

func TestMain(m *testing.M) {
	if os.Getenv(asProcess) == "" {
		os.Exit(m.Run())
	}
	b := make([]byte, 128)
	if os.Getenv("RANK") == "0" {
		copy(b, "what the first one says")
	}
	var rank int
	_, err := fmt.Sscan(os.Getenv("RANK"), &rank)
	if err == nil {
		err = Share(rank, b)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("rank %d: %s\n", rank, strings.TrimRight(string(b), "\x00"))
}

// launcher returns torchrun of the Python that is active, or that TORCHRUN names.
func launcher(t *testing.T) string {
	t.Helper()
	name := os.Getenv("TORCHRUN")
	if name == "" {
		name = "torchrun"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip("there is no PyTorch to try it with: ", err, "; TORCHRUN may name its torchrun")
	}
	return path
}

// freePort returns a port of this machine that is free.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it was free
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// TestProcessesOfTorchrunShareBytes meets at the store of a true agent.
func TestProcessesOfTorchrunShareBytes(t *testing.T) {
	run := launcher(t)
	for name, args := range map[string][]string{
		"standalone":      {"--standalone"},
		"one host of one": {"--nnodes", "1", "--master-addr", "127.0.0.1", "--master-port", freePort(t)},
	} {
		t.Run(name, func(t *testing.T) {
			c := exec.CommandContext(t.Context(), run, append(args, "--nproc-per-node", "3", "--no-python", os.Args[0])...)
			c.Env = append(os.Environ(), asProcess+"=yes", "OMP_NUM_THREADS=1")
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for rank := range 3 {
				if want := fmt.Sprintf("rank %d: what the first one says\n", rank); !strings.Contains(string(out), want) {
					t.Errorf("it has no %q:\n%s", want, out)
				}
			}
		})
	}
}
