package train

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/optim"
	"github.com/memtop/memtop/engine/tensor"
)

// Saved is a saved run: a checked file, and the description before its tensors.
type Saved struct {
	path    string
	file    *os.File
	content content
}

// content is the description of a saved run.
type content struct {
	// Program is the caller's data: how to make the model and the data again.
	Program        json.RawMessage   `json:"program"`
	Step           int64             `json:"step"`
	Position       int64             `json:"position"` // batches taken
	Random         device.Seed       `json:"random"`
	Settings       map[string]string `json:"settings"`
	Optimizer      optim.Settings    `json:"optimizer"`
	OptimizerSteps int64             `json:"optimizer_steps"`
	Scaler         *amp.ScalerState  `json:"scaler,omitempty"`
	Tensors        []described       `json:"tensors"`
}

// part is a tensor that is saved.
type part struct {
	parameter, role string
	data            *tensor.Tensor
}

func (p part) describe() described {
	return described{
		Parameter: p.parameter, Role: p.role, DType: p.data.DType().String(), Shape: p.data.Shape(), Bytes: p.data.Bytes(),
	}
}

// parts are all tensors of a run, in an order that is always the same.
func (t *Trainer) parts() []part {
	var list []part
	for _, p := range t.parameters {
		list = append(list, part{p.Name(), "", p.Data()})
	}
	for _, s := range t.optimizer.State() {
		list = append(list, part{s.Parameter, s.Role, s.Data})
	}
	return list
}

// Save writes the run; [Open] refuses an incomplete file. [Saved.Program] returns
// program, which must encode as JSON. A change of settings that no step has used
// yet is not part of the run. Save waits for the device. All processes of a group
// call it: it gathers the tensors that they divide, and each process writes the
// whole run.
func (t *Trainer) Save(w io.Writer, program any) error {
	own, err := json.Marshal(program)
	if err != nil {
		return fmt.Errorf("saving the run: %w", err)
	}
	wanted := t.current.asked()
	c := content{
		Program: own, Step: t.step, Position: t.position(), Random: t.ctx.Random(),
		Settings: wanted.Values(), Optimizer: t.optimizer.Settings(), OptimizerSteps: t.optimizer.Steps(),
	}
	if t.scaler != nil {
		state := t.scaler.State()
		c.Scaler = &state
	}
	parts := t.parts()
	for _, p := range parts {
		c.Tensors = append(c.Tensors, p.describe())
	}
	err = writeWhole(w, func(w io.Writer) error {
		if err := writeDescription(w, &c); err != nil {
			return err
		}
		return writeParts(w, parts)
	})
	if err != nil {
		return fmt.Errorf("saving the run: %w", err)
	}
	return nil
}

func writeParts(w io.Writer, parts []part) error {
	for _, p := range parts {
		var raw []byte
		if err := tensor.Try(func() { raw = p.data.Download() }); err != nil {
			return err
		}
		if _, err := w.Write(raw); err != nil {
			return err
		}
	}
	return nil
}

// Open checks the file of a saved run from its first byte to its last. A file
// that is not whole is a [DamagedError]. The caller closes it.
func Open(path string) (*Saved, error) {
	s := &Saved{path: path}
	f, tensors, err := readWhole(path, &s.content)
	if err != nil {
		return nil, err
	}
	s.file = f
	if err := s.content.check(tensors); err != nil {
		s.Close()
		return nil, &DamagedError{path, err.Error()}
	}
	return s, nil
}

// mostSteps is more steps, and batches, than any run has.
const mostSteps = 1 << 40

// check refuses numbers that no run can have, in a file whose tensors have the
// given bytes. The checksum cannot do that, because it is also right in a forged
// file.
func (c *content) check(tensors int64) error {
	for _, n := range []struct {
		name  string
		value int64
	}{{"step", c.Step}, {"position", c.Position}, {"optimizer_steps", c.OptimizerSteps}} {
		if n.value < 0 || n.value > mostSteps {
			return fmt.Errorf("it says %s %d, and no run has that", n.name, n.value)
		}
	}
	if !slices.Contains(optim.Kinds(), c.Optimizer.Kind) {
		return fmt.Errorf("it says optimizer %d, and there is none", c.Optimizer.Kind)
	}
	if s := c.Scaler; s != nil && (!(s.Scale > 0 && s.Scale <= math.MaxFloat32) || s.GoodSteps < 0) {
		return fmt.Errorf("it says a loss scale of %v after %d good steps, and no run has that", s.Scale, s.GoodSteps)
	}
	for _, d := range c.Tensors {
		if d.Bytes < 0 || d.Bytes > tensors {
			return errTensors
		}
		tensors -= d.Bytes
	}
	if tensors != 0 {
		return errTensors
	}
	return nil
}

var errTensors = errors.New("its tensors are not those that it lists")

// Close closes the file.
func (s *Saved) Close() { _ = s.file.Close() } // it was only read

// Step returns the number of steps that the run had taken.
func (s *Saved) Step() int64 { return s.content.Step }

// Position returns the number of batches that the run had taken.
func (s *Saved) Position() int64 { return s.content.Position }

// Program reads what was given to Save into v.
func (s *Saved) Program(v any) error {
	if err := json.Unmarshal(s.content.Program, v); err != nil {
		return &DamagedError{s.path, "it was not saved by this program: " + err.Error()}
	}
	return nil
}

// Settings returns the settings of the last step. total is the
// length of the schedule in steps.
func (s *Saved) Settings(total int) (Settings, error) {
	// The optimizer's constants are not separate settings. Its kind comes first,
	// because it sets defaults.
	settings, err := Settings{Optimizer: s.content.Optimizer, Schedule: optim.Schedule{Total: total}}.withAll(s.content.Settings)
	if err != nil {
		return settings, &DamagedError{s.path, err.Error()}
	}
	return settings, nil
}

// Resume makes the trainer go on where the run had stopped. It must have been
// made with a model of the same shape, with the run's optimizer, and with
// batches that begin at [Saved.Position]. A run of another model is a [DamagedError], and
// the parameters are then not to be used.
func (t *Trainer) Resume(s *Saved) error {
	if s.content.Optimizer != t.optimizer.Settings() {
		return s.unfit("it was saved with the optimizer %v, not with %v", s.content.Optimizer.Kind, t.optimizer.Settings().Kind)
	}
	parts := t.parts()
	if len(parts) != len(s.content.Tensors) {
		return s.unfit("it has %d tensors, this model and optimizer have %d", len(s.content.Tensors), len(parts))
	}
	r := bufio.NewReaderSize(s.file, 1<<20)
	for i, p := range parts {
		if err := p.fits(s.content.Tensors[i]); err != nil {
			return s.unfit("%v", err)
		}
		if err := p.read(r); err != nil {
			return fmt.Errorf("%s: %w", s.path, err)
		}
	}
	t.step, t.began = s.content.Step, s.content.Step
	random := s.content.Random
	if g := t.config.Group; g != nil && g.Rank() > 0 {
		random.Seed = t.config.Seed // the run was saved by the first process, with its own
	}
	t.ctx.SetRandom(random)
	t.optimizer.Restore(s.content.OptimizerSteps)
	if s.content.Scaler != nil {
		return tensor.Try(func() {
			t.scaler = amp.NewScaler(t.config.Device, t.config.Scaler)
			t.scaler.SetState(*s.content.Scaler)
		})
	}
	return nil
}

// unfit says why the run does not fit a trainer.
func (s *Saved) unfit(format string, values ...any) error {
	return &DamagedError{s.path, fmt.Sprintf(format, values...)}
}

// fits compares what a file lists with the tensor that it is for.
func (p part) fits(d described) error {
	have := p.describe()
	if have.Parameter != d.Parameter || have.Role != d.Role || have.DType != d.DType || have.Bytes != d.Bytes || !slices.Equal(have.Shape, d.Shape) {
		return fmt.Errorf("it has %s %s of %s %v where this model has %s %s of %s %v",
			d.Parameter, d.Role, d.DType, d.Shape, have.Parameter, have.Role, have.DType, have.Shape)
	}
	return nil
}

// read fills the tensor from a file.
func (p part) read(r io.Reader) error {
	raw := make([]byte, p.data.Bytes())
	if _, err := io.ReadFull(r, raw); err != nil {
		return err
	}
	return tensor.Try(func() { p.data.Upload(raw) })
}

// Parameters returns the model's parameters, which the model owns.
func (t *Trainer) Parameters() []*nn.Param { return t.parameters }
