// Command gpucheck tries every operation of the CUDA device on a GPU, at the
// sizes of GPT-2 124M and on random data. A sample of each result is compared
// with float64 on the processor, two runs must give the same bits, and the time
// is the device's own. Products are done by each of the means there are:
// cuBLASLt, wgmma and mma.sync.
//
// It prints one line for each, in columns separated by tabs: "gpucheck", what
// was tried, PASS, FAIL or SKIP, milliseconds, and what there is to say. It needs
// a driver and nothing else; without one its exit code is 77.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/memtop/memtop/engine/device/cuda"
)

// The exit codes beside 0: something failed, and there is no GPU.
const (
	failed = 1
	noGPU  = 77
)

func main() {
	cuda.Trials()
	ordinal := flag.Int("device", 0, "`number` of the GPU")
	probe := flag.Bool("probe", false, "only say what the GPU is")
	from := flag.Int("from", 0, "`number` of the trial to begin with")
	flag.Parse()
	os.Exit(run(os.Stdout, *ordinal, *probe, *from))
}

// run prints what is tried and returns the exit code.
func run(out io.Writer, ordinal int, probe bool, from int) int {
	c, err := open(cuda.Options{Ordinal: ordinal, Notice: func(line string) { fmt.Fprintln(os.Stderr, line) }})
	if err != nil {
		fmt.Fprintln(os.Stderr, "gpucheck:", err)
		if cuda.Unavailable(err) {
			return noGPU
		}
		return failed
	}
	defer c.close()
	if probe {
		i := c.session.device.Info()
		fmt.Fprintf(out, "%s, %d MiB, compute capability %d.%d, driver of CUDA %d.%d, products: %s\n",
			i.Name, i.Memory>>20, i.Major, i.Minor, i.Version/1000, i.Version%1000/10, c.session.device.Products())
		return 0
	}
	if c.all(out, gpt2, from) {
		return 0
	}
	return failed
}

// all tries everything from a trial on, and reports whether nothing failed. After
// a failure that ends the use of the device in this process another process goes
// on.
func (c *checker) all(out io.Writer, s shapes, from int) bool {
	good := true
	for i, step := range c.steps(s) {
		if i < from {
			continue
		}
		v := step.try()
		good = good && v.result() != "FAIL"
		fmt.Fprintf(out, "gpucheck\t%s\t%s\t%s\t%s\n", step.name, v.result(), v.milliseconds(), v.text(step.trial))
		if c.session.device.Failed() != nil {
			c.next(out, i+1)
			return false
		}
	}
	return good
}

// next goes on in another process.
func (c *checker) next(out io.Writer, from int) {
	program, err := os.Executable()
	if err == nil {
		p := exec.Command(program, "-device", strconv.Itoa(c.session.device.Info().Ordinal), "-from", strconv.Itoa(from))
		p.Stdout, p.Stderr = out, os.Stderr
		err = p.Run()
	}
	if !errors.As(err, new(*exec.ExitError)) && err != nil { // it says itself what failed
		fmt.Fprintf(out, "gpucheck\teverything after that\tFAIL\t\t%v\n", err)
	}
}

func (v *verdict) result() string {
	switch {
	case v.err == nil:
		return "PASS"
	case v.skipped:
		return "SKIP"
	default:
		return "FAIL"
	}
}

func (v *verdict) milliseconds() string {
	if v.time == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(v.time)/float64(time.Millisecond), 'f', 4, 64)
}

// text says in one line why it failed, or how well it was done. A transfer has no
// trial.
func (v *verdict) text(t *trial) string {
	if v.err != nil {
		return strings.NewReplacer("\n", "; ", "\t", " ").Replace(v.err.Error())
	}
	if t == nil {
		return "the same bytes came back"
	}
	parts := []string{fmt.Sprintf("error %.0f %% of what is allowed", 100*v.worst)}
	if seconds := v.time.Seconds(); seconds > 0 {
		parts = append(parts, fmt.Sprintf("%.0f GB/s", float64(t.moved())/seconds/1e9))
		if t.flops > 0 {
			parts = append(parts, fmt.Sprintf("%.1f TFLOP/s", t.flops/seconds/1e12))
		}
	}
	return strings.Join(parts, ", ")
}
