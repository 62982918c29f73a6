package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memtop/memtop/engine/nn"
)

// overwritten counts the activations that work in place, and notes why others do
// not.
type overwritten struct {
	done, all int
	reasons   []string // each with the first layer that it is true for
	known     []string
}

func (o *overwritten) add(l *nn.Layer) {
	switch {
	case l.InPlace:
		o.done++
	case l.Copies == "":
		return
	case !slices.Contains(o.known, l.Copies):
		o.known = append(o.known, l.Copies)
		o.reasons = append(o.reasons, fmt.Sprintf("not %s: %s", l.Name, l.Copies))
	}
	o.all++
}

// String is like "1 of 3 activations do; not h.0.mlp.gelu: its backward pass
// reads what it is given".
func (o *overwritten) String() string {
	text := fmt.Sprintf("%d of %d activations do", o.done, o.all)
	return strings.Join(append([]string{text}, o.reasons...), "; ")
}

// InPlace says how many activations work in place, and why others do not.
func (e Estimate) InPlace() string {
	var o overwritten
	for i := range e.Layers {
		o.add(&e.Layers[i])
	}
	return o.String()
}

// noteInPlace notes the same of the last step, for who asks what the setting does.
func (t *Trainer) noteInPlace() {
	var o overwritten
	for _, l := range t.Layers() {
		o.add(l)
	}
	text := o.String()
	t.inPlace.Store(&text)
}
