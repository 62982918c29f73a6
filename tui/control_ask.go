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

// foreseen is the prediction for the change in the open question.
type foreseen struct {
	answered   bool
	prediction *trace.Prediction // nil when the program cannot say
}

// foreseenMsg brings the program's prediction for a wish.
type foreseenMsg struct {
	of *wish
	foreseen
}

// ask asks the user about a wish, and meanwhile the program what it would do.
func (c *control) ask(w *wish) tea.Cmd {
	c.asking, c.foreseen = w, foreseen{}
	to := w.file.foresees()
	if to == nil {
		c.foreseen.answered = true
		return nil
	}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		p, err := to.Predict(ctx, []trace.Value{{Key: w.key, Value: w.value}})
		if err != nil {
			p = nil // an older program does not know the request; the change itself will report any error
		}
		return foreseenMsg{w, foreseen{true, p}}
	}
}

// foresee takes a prediction, unless another question is open by now.
func (c *control) foresee(msg foreseenMsg) {
	if c.asking != nil && msg.of == c.asking {
		c.foreseen = msg.foreseen
	}
}
