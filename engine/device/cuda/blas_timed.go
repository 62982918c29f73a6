package cuda

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/memtop/memtop/engine/device"
)

// # Timed algorithms
//
// The library lists its algorithms for a product by how fast it expects them to be. With
// more than one of them wanted, the device computes the product by each when it first
// meets one of its kind, and keeps the fastest for as long as it is open.
//
// Times differ from run to run, and so may the algorithm that is chosen, and with it the
// last bits of sums. Ranks of one run may differ too: they add their gradients up, so
// their weights stay equal. That is why the library's first is used unless the user wants
// otherwise.

// candidatesVariable is how many algorithms are timed.
const candidatesVariable = "MEMTOP_CUDA_CANDIDATES"

const (
	// mostCandidates is how many algorithms of a product can be timed.
	mostCandidates = 8
	// timedRuns is how often a product is computed while it is timed, after once before.
	timedRuns = 3
	// worthIt is how much of the time of the best so far another may take to be
	// preferred: what gains less is not worth other bits.
	worthIt = 0.97
)

// wantedCandidates returns how many algorithms the user wants to be timed, 1 for none.
func wantedCandidates() (int, error) {
	v := os.Getenv(candidatesVariable)
	if v == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > mostCandidates {
		return 0, fmt.Errorf("%s=%s: want 1 to %d", candidatesVariable, v, mostCandidates)
	}
	return n, nil
}

// repeatable reports whether a product can be computed several times with one result: it
// does not add to C, and does not read it as an operand.
func repeatable(m *device.MatMul) bool {
	c := m.C.Addr
	return m.Beta == 0 && c != m.A.Addr && c != m.B.Addr && c != m.Pre.Addr && c != biasOf(m).Addr
}

// planProduct plans a product, and times its algorithms where that is possible and was not
// done. It is called outside of a capture, with the device's context.
func (d *Device) planProduct(lt *blas, m *device.MatMul) error {
	k, _ := lt.kindOf(m)
	p, err := lt.planOf(k, m)
	if p == nil || p.timed || err != nil || !repeatable(m) {
		return err
	}
	if err := p.point(lt, m); err != nil {
		return err
	}
	least := 0.0
	for i := range p.algorithms {
		took, err := d.timeAlgorithm(lt, p, i, m)
		var status *BLASError
		switch {
		case errors.As(err, &status): // it was listed, and does not run: others do
		case err != nil:
			return err
		case least == 0 || took < worthIt*least:
			p.chosen, least = i, took
		}
	}
	p.timed = true
	return nil
}

// timeAlgorithm returns how long a product takes by one of its plan's algorithms, in
// nanoseconds. The first time may load the algorithm, and does not count.
func (d *Device) timeAlgorithm(lt *blas, p *plan, algorithm int, m *device.MatMul) (float64, error) {
	if err := lt.run(p, algorithm, m, d.compute); err != nil {
		return 0, err
	}
	took, err := d.elapsed(func() error {
		for range timedRuns {
			if err := lt.run(p, algorithm, m, d.compute); err != nil {
				return err
			}
		}
		return nil
	})
	return float64(took), err
}
