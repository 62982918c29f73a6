package torchrun

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
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
	fatal.If(t, err)
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
			c.Env = append(os.Environ(), asProcess+"=yes", "OMP_NUM_THREADS=1", "TMPDIR="+t.TempDir()) // it leaves folders of logs there
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

// keeper is the other end of a connection to a store: it notes what it is asked and
// answers what it is given.
type keeper struct {
	asked   bytes.Buffer
	answers bytes.Buffer
}

func (k *keeper) Write(b []byte) (int, error) { return k.asked.Write(b) }

func (k *keeper) Read(b []byte) (int, error) { return k.answers.Read(b) }

// TestTheStoreIsAskedInItsOwnWords holds the bytes that PyTorch's own clients send,
// on a processor whose order is little-endian.
func TestTheStoreIsAskedInItsOwnWords(t *testing.T) {
	const (
		greeted = "\x00\xce\xf7\x85\x3c"
		awaited = "\x06\x01\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00key"
		there   = "\x00" // the answer to a wait
	)
	tests := map[string]struct {
		rank           int
		answers, asked string
		want, err      string
	}{
		"the first sets it": {
			rank: 0, answers: there, want: "four",
			asked: greeted + "\x01\x03\x00\x00\x00\x00\x00\x00\x00key\x04\x00\x00\x00\x00\x00\x00\x00four" + awaited,
		},
		"another one gets it": {
			rank: 1, answers: there + "\x04\x00\x00\x00\x00\x00\x00\x00have", want: "have",
			asked: greeted + awaited + "\x03\x03\x00\x00\x00\x00\x00\x00\x00key",
		},
		"what is no id":        {rank: 1, answers: there + "\x01\x00\x00\x00\x00\x00\x00\x00x", err: "key has 1 bytes, want 4"},
		"what is no store":     {rank: 1, answers: there + "HTTP/1.1", err: "key has "},
		"a store that is gone": {rank: 1, err: "it has no word of rank 0: EOF"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			k := new(keeper)
			k.answers.WriteString(test.answers)
			b := []byte("four")
			err := (&store{k}).share("key", test.rank, b)
			if test.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), test.err) {
					t.Errorf("got %v, want %q", err, test.err)
				}
				return
			}
			if err != nil || string(b) != test.want || k.asked.String() != test.asked {
				t.Errorf("%v: it has %q, and asked %q", err, b, k.asked.String())
			}
		})
	}
}

func TestNoStoreIsOneLine(t *testing.T) {
	t.Setenv("MASTER_ADDR", "127.0.0.1")
	t.Setenv("MASTER_PORT", freePort(t))
	for kept, want := range map[string]string{"True": "the store of torchrun does not answer", "False": "torchrun keeps no store for its processes"} {
		t.Setenv("TORCHELASTIC_USE_AGENT_STORE", kept)
		if err := Share(1, make([]byte, 4)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("TORCHELASTIC_USE_AGENT_STORE=%s: %v, want %q", kept, err, want)
		}
	}
}
