package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/trace"
)

// predictor is a source that predicts what changes would do together, without
// making them.
type predictor interface {
	Predict(ctx context.Context, changes []trace.Value) (*trace.Prediction, error)
}

// foreseen is the prediction for the changes in the open question.
type foreseen struct {
	answered   bool
	prediction *trace.Prediction // nil when the program cannot say
}

// foreseenMsg brings the program's prediction for wishes. The first wish
// identifies them.
type foreseenMsg struct {
	first *wish
	foreseen
}

// ask asks the user about wishes, and meanwhile the program what they would do.
func (c *control) ask(wishes []wish) tea.Cmd {
	c.asking, c.foreseen = wishes, foreseen{}
	to := wishes[0].file.foresees()
	if to == nil {
		c.foreseen.answered = true
		return nil
	}
	changes := make([]trace.Value, len(wishes))
	for i, w := range wishes {
		changes[i] = trace.Value{Key: w.key, Value: w.value}
	}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		p, err := to.Predict(ctx, changes)
		if err != nil {
			p = nil // an older program does not know the request; the change itself will report any error
		}
		return foreseenMsg{&wishes[0], foreseen{true, p}}
	}
}

// foresee takes a prediction, unless another question is open by now.
func (c *control) foresee(msg foreseenMsg) {
	if len(c.asking) > 0 && msg.first == &c.asking[0] {
		c.foreseen = msg.foreseen
	}
}
