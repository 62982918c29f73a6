package program

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/hostbuild"
	"github.com/memtop/memtop/cmd/testing/nccltest"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/collective/mpi"
	"github.com/memtop/memtop/engine/collective/nccl"
	"github.com/memtop/memtop/engine/collective/torchrun"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/snapshots/launcher"
)

// The variables of a test's process: the file of the host's kernels, and the
// folder in which the first process leaves the id for the others.
const (
	kernelsVariable = "MEMTOP_TEST_KERNELS"
	meetingVariable = "MEMTOP_TEST_MEETING"
)

// gpuReach is a machine of GPUs whose processes meet by the tests' NCCL.
func gpuReach(kernels string) Reach {
	drivers := make(map[Machine]*cudatest.Driver)
	return Reach{
		Group: mpi.Open,
		GPUs: func(ordinal int) (Machine, error) {
			l, err := hostbuild.Open(kernels)
			if err != nil {
				return nil, err
			}
			o := cudatest.Options{Devices: 2, Capacity: 1 << 30, Run: cudatest.Kernels(l)}
			if os.Getenv("MEMTOP_GPU") == "ptx" {
				o.Execute = func(err error) { fmt.Fprintln(os.Stderr, err) }
			}
			driver := cudatest.New(o)
			d, err := cuda.Open(cuda.Options{Ordinal: ordinal, Driver: driver})
			if err == nil {
				drivers[d] = driver
			}
			return d, err
		},
		GPUGroup: func(m Machine, at launcher.Place, host collective.Group) (collective.Group, error) {
			o := nccl.Options{Device: m.(*cuda.Device), Rank: at.Rank, Size: at.World, Host: host, Library: nccltest.New(drivers[m])}
			switch {
			case host != nil:
			case os.Getenv(meetingVariable) == "":
				o.Share = func(id []byte) error { return torchrun.Share(at.Rank, id) }
			default:
				o.Share = func(id []byte) error { return shareByPipes(at, id) }
			}
			return nccl.Open(o)
		},
	}
}

// shareByPipes is the store of these tests: a pipe with a name for each other process.
func shareByPipes(at launcher.Place, id []byte) error {
	pipe := func(rank int) string { return filepath.Join(os.Getenv(meetingVariable), fmt.Sprint(rank)) }
	if at.Rank > 0 {
		got, err := os.ReadFile(pipe(at.Rank))
		copy(id, got)
		return err
	}
	for rank := 1; rank < at.World; rank++ {
		if err := os.WriteFile(pipe(rank), id, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// gpuRank is a process of several.
type gpuRank struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

// gpuRanks returns memtrain in a number of processes with a GPU each, as torchrun
// starts them.
func gpuRanks(t *testing.T, n int, args ...string) []*gpuRank {
	t.Helper()
	kernels := built(t).Path
	folder := t.TempDir()
	fatal.If(t, os.Symlink(os.Args[0], filepath.Join(folder, "memtrain")))
	ctx, cancel := context.WithTimeout(t.Context(), longestRun)
	t.Cleanup(cancel)
	var list []*gpuRank
	for rank := range n {
		fatal.If(t, syscall.Mkfifo(filepath.Join(folder, fmt.Sprint(rank)), 0o600))
		r := &gpuRank{Cmd: exec.CommandContext(ctx, filepath.Join(folder, "memtrain"), append([]string{"--probe", "off", "--json"}, args...)...)}
		r.Env = append(os.Environ(), kernelsVariable+"="+kernels, meetingVariable+"="+folder,
			fmt.Sprintf("RANK=%d", rank), fmt.Sprintf("LOCAL_RANK=%d", rank), fmt.Sprintf("WORLD_SIZE=%d", n))
		r.Stdout, r.Stderr = &r.stdout, &r.stderr
		list = append(list, r)
	}
	return list
}

// steppedOnGPUs runs memtrain in a number of processes and returns the output of
// the first.
func steppedOnGPUs(t *testing.T, n int, args ...string) []ranked {
	t.Helper()
	list := gpuRanks(t, n, args...)
	for _, r := range list {
		fatal.If(t, r.Start())
	}
	for rank, r := range list {
		if err := r.Wait(); err != nil {
			t.Fatalf("rank %d: %v: %s", rank, err, r.stderr.String())
		}
	}
	return rankedSteps(t, list[0].stdout.Bytes())
}

func TestGPUsTrainTogether(t *testing.T) {
	none := []train.Shard{train.ShardNothing}
	tests := map[string]struct {
		ranks  int
		shards []train.Shard
		args   []string
		limit  float64 // on the difference of losses
	}{
		"two ranks":             {2, train.Shards(), nil, 1e-5},
		"three ranks":           {3, []train.Shard{train.ShardGradients}, []string{"--batch", "3"}, 1e-5},
		"gradients on the host": {2, none, []string{"--offload", "gradients"}, 1e-5},
		"layers on the host":    {2, []train.Shard{train.ShardNothing, train.ShardOptimizer}, []string{"--host", "wte+lm_head+loss"}, 1e-5},
		"half precision":        {2, none, []string{"--amp", "bf16"}, 1e-2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := slices.Concat(small, []string{"--batch", "2", "--steps", "3"}, test.args)
			alone := steppedOnGPUs(t, 1, args...)
			for _, shard := range test.shards {
				together := steppedOnGPUs(t, test.ranks, append(args, "--shard", shard.String())...)
				sameLossesWithin(t, test.limit, alone, together)
				if last := together[len(together)-1]; last.World != test.ranks || len(last.Ranks) != test.ranks {
					t.Errorf("shard=%v: %d processes are known as %+v", shard, test.ranks, last)
				}
			}
		})
	}
}

// TestGPUsOfMPIsProcessesTrainTogether shares the id by MPI.
func TestGPUsOfMPIsProcessesTrainTogether(t *testing.T) {
	fatal.IfShort(t)
	args := slices.Concat(small, []string{"--steps", "3"})
	t.Setenv(kernelsVariable, built(t).Path)
	sameLosses(t, steppedBy(t, 1, args...), steppedBy(t, 2, args...))
}

// TestProcessesWithAGPUAndWithoutRefuseEachOther has MPI start one of each.
func TestProcessesWithAGPUAndWithoutRefuseEachOther(t *testing.T) {
	t.Setenv(kernelsVariable, built(t).Path)
	c := mpirun(t, 1, slices.Concat(small, []string{"--steps", "1", "--device", "cpu:0"})...)
	c.Args = slices.Concat(c.Args, []string{":", "-n", "1", c.Args[3], "--probe", "off"}, small, []string{"--steps", "1", "--device", "cuda:0"})
	out, err := c.CombinedOutput()
	const want = "memtrain: rank 0 has no GPU of its own and rank 1 has one; start as many processes as there are GPUs, or give --device cpu:0"
	if err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%v: %s\nwant %q", err, out, want)
	}
}

func TestEachProcessOfAMachineHasItsOwnGPU(t *testing.T) {
	tests := map[string]struct {
		device       string
		local, there int // the number of the process and of GPUs
		want         []int
	}{
		"the first":                          {"auto", 0, 2, []int{0}},
		"the second":                         {"auto", 1, 2, []int{1}},
		"the second, by the kind of device":  {"cuda", 1, 2, []int{1}},
		"the second, which sees one only":    {"auto", 1, 1, []int{1, 0}},
		"a number that was asked for":        {"cuda:0", 1, 2, []int{0}},
		"the second, where there is none":    {"auto", 1, 0, []int{1, 0}},
		"the first, where there is no other": {"auto", 0, 0, []int{0}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var asked []int
			s := &session{options: &options{device: test.device, deviceMemory: 1 << 20, launched: launcher.Place{Local: test.local}}}
			s.reach.GPUs = func(ordinal int) (Machine, error) {
				asked = append(asked, ordinal)
				if ordinal >= test.there {
					return nil, errors.New("there is no such device")
				}
				return nil, nil //nolint:nilnil // a device that nothing is done with
			}
			m, _, err := s.openMachine()
			if m != nil {
				defer m.Close() //nolint:errcheck // it was not used
			}
			if err != nil || !slices.Equal(asked, test.want) || (m != nil) != (test.there == 0) {
				t.Errorf("asked for %v and got %v (%v), want %v", asked, m, err, test.want)
			}
		})
	}
}

// TestGPUsOfTorchrunTrainTogether meets at the store of a true agent. TORCHRUN may name
// its program.
func TestGPUsOfTorchrunTrainTogether(t *testing.T) {
	run, err := exec.LookPath(cmp.Or(os.Getenv("TORCHRUN"), "torchrun"))
	if err != nil {
		t.Skip("there is no PyTorch to try it with: ", err)
	}
	args := slices.Concat(small, []string{"--batch", "4", "--steps", "4"})
	alone := steppedOnGPUs(t, 1, args...)
	one := gpuRanks(t, 1, args...)[0]
	c := exec.CommandContext(t.Context(), run, append([]string{"--standalone", "--nproc-per-node", "2", "--no-python"}, one.Args...)...)
	c.Env = append(os.Environ(), kernelsVariable+"="+built(t).Path, "OMP_NUM_THREADS=1")
	c.Stderr = &one.stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, one.stderr.String())
	}
	sameLosses(t, alone, rankedSteps(t, out))
}

// TestGPUsEndWhenAProcessIsKilled has no launcher that would end the others.
func TestGPUsEndWhenAProcessIsKilled(t *testing.T) {
	list := gpuRanks(t, 2, append(slices.Clone(small), "--steps", "0")...)
	list[0].Stdout = nil
	out, err := list[0].StdoutPipe()
	fatal.If(t, err)
	for _, r := range list {
		fatal.If(t, r.Start())
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("it did not begin: %s", list[0].stderr.String())
	}
	fatal.If(t, list[1].Process.Kill())
	killed := time.Now()
	last := lines.Text()
	for lines.Scan() {
		last = lines.Text()
	}
	if err := list[0].Wait(); err == nil {
		t.Error("it ended well")
	}
	t.Logf("the other had ended after %v", time.Since(killed))
	_ = list[1].Wait() // it was killed
	want := fmt.Sprintf(": rank 1 (process %d) has ended, and the others cannot go on without it; start all again, from the last save with --resume\n", list[1].Process.Pid)
	if got := list[0].stderr.String(); strings.Count(got, "has ended") != 1 || !strings.HasSuffix(got, want) {
		t.Errorf("it says %q, want one line that ends with %q", got, want)
	}
	var step ranked
	if err := json.Unmarshal([]byte(last), &step); err != nil || !(step.Loss > 0 && step.Loss < 20) {
		t.Errorf("the last step is %s (%v)", last, err)
	}
}
