package mpi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/device"
)

// asPeer makes this test's program one of several processes, which do the exercises.
const asPeer = "MEMTOP_TEST_PEER"

func TestMain(m *testing.M) {
	if os.Getenv(asPeer) != "" {
		if err := peer(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func peer() error {
	g, err := Open()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(exercises)) {
		if err := exercises[name](g); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return g.Close()
}

// exercises are what all processes do, in the order of the names.
var exercises = map[string]func(collective.Group) error{
	"sums": func(g collective.Group) error {
		a := []float32{float32(g.Rank()), 1, float32(10 * g.Rank())}
		if err := g.AllReduce(array(a)).Wait(); err != nil {
			return err
		}
		n := float32(g.Size())
		all := n * (n - 1) / 2
		return same(a, []float32{all, n, 10 * all})
	},
	"sums of bfloat16": func(g collective.Group) error {
		a := []uint16{device.Float32ToBFloat16(float32(g.Rank() + 1)), device.Float32ToBFloat16(0.5)}
		if err := g.AllReduce(device.Array{Addr: addressOf(a), Len: 2, DType: device.BFloat16}).Wait(); err != nil {
			return err
		}
		n := float32(g.Size())
		return same([]float32{device.BFloat16ToFloat32(a[0]), device.BFloat16ToFloat32(a[1])}, []float32{n * (n + 1) / 2, n / 2})
	},
	"parts": func(g collective.Group) error {
		src, part, whole := make([]float32, 2*g.Size()), make([]float32, 2), make([]float32, 2*g.Size())
		for i := range src {
			src[i] = float32(i)
		}
		scattered := g.ReduceScatter(array(part), array(src))
		gathered := g.AllGather(array(whole), array(part)) // in the order of the calls
		if err := errors.Join(gathered.Wait(), scattered.Wait()); err != nil {
			return err
		}
		for i := range src {
			src[i] *= float32(g.Size())
		}
		return errors.Join(same(part, src[2*g.Rank():2*g.Rank()+2]), same(whole, src))
	},
	"gathering in place": func(g collective.Group) error {
		whole, want := make([]float32, g.Size()), make([]float32, g.Size())
		whole[g.Rank()] = float32(g.Rank() + 1)
		for i := range want {
			want[i] = float32(i + 1)
		}
		if err := g.AllGather(array(whole), array(whole[g.Rank():g.Rank()+1])).Wait(); err != nil {
			return err
		}
		return same(whole, want)
	},
	"times": func(g collective.Group) error { // of the exercises before it
		before := collective.TimesOf(g)
		if err := g.Barrier(); err != nil {
			return err
		}
		if took := collective.TimesOf(g).Since(before); before.Communicated <= 0 || took.Communicated <= 0 {
			return fmt.Errorf("a barrier took %+v, what was before it %+v", took, before)
		}
		return nil
	},
	"a text": func(g collective.Group) error {
		got, err := collective.Text(g, fmt.Appendf(nil, "of rank %d", g.Rank()), g.Size()-1, 9)
		if want := fmt.Sprintf("of rank %d", g.Size()-1); err == nil && string(got) != want {
			err = fmt.Errorf("got %q, want %q", got, want)
		}
		return err
	},
	"a broadcast": func(g collective.Group) error {
		a := []float32{float32(g.Rank())}
		if err := g.Broadcast(array(a), g.Size()-1).Wait(); err != nil {
			return err
		}
		return errors.Join(same(a, []float32{float32(g.Size() - 1)}), g.Barrier())
	},
}

func array(a []float32) device.Array {
	return device.Array{Addr: addressOf(a), Len: len(a), DType: device.Float32}
}

// kept are the arrays, on the heap: what a function has may move with its stack.
var kept []any

func addressOf[T any](a []T) uint64 {
	kept = append(kept, a)
	return uint64(uintptr(unsafe.Pointer(&a[0])))
}

func same(got, want []float32) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}

// makes are the launchers of each make of MPI, as Debian and others name them.
var makes = map[string][]string{"Open MPI": {"mpirun.openmpi", "mpirun"}, "MPICH": {"mpirun.mpich", "mpiexec.hydra"}}

// longestRun ends processes that wait for each other for ever.
const longestRun = time.Minute

// launch runs the exercises in so many processes.
func launch(t *testing.T, maker string, processes int) ([]byte, error) {
	t.Helper()
	for _, name := range makes[maker] {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), longestRun)
		t.Cleanup(cancel)
		c := exec.CommandContext(ctx, path, "-n", fmt.Sprint(processes), os.Args[0])
		c.Env = append(os.Environ(), asPeer+"=yes",
			"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1")
		return c.CombinedOutput()
	}
	t.Skipf("%s is not installed: there is no %s", maker, strings.Join(makes[maker], " or "))
	return nil, nil
}

func TestProcessesMeetByMPI(t *testing.T) {
	for maker := range makes {
		for _, n := range []int{2, 4} {
			t.Run(fmt.Sprintf("%d by %s", n, maker), func(t *testing.T) {
				if out, err := launch(t, maker, n); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}
