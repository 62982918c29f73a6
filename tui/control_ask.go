package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"memtop/snapshots/trace"
)

// predictor is a source that says what changes would do together and makes none.
type predictor interface {
	Predict(ctx context.Context, changes []trace.Value) (*trace.Prediction, error)
}

// foreseen is what is known of the change that is asked about.
type foreseen struct {
	answered   bool
	prediction *trace.Prediction // nil when the program cannot say
}

// foreseenMsg says what the program says of a wish.
type foreseenMsg struct {
	wish *wish
	foreseen
}

// ask puts a wish to the reader, and asks the program meanwhile what it would do.
func (c *control) ask(w *wish) tea.Cmd {
	c.asking, c.foreseen = w, foreseen{}
	to, ok := w.file.source.(predictor)
	if !ok {
		c.foreseen.answered = true
		return nil
	}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		p, err := to.Predict(ctx, []trace.Value{{Key: w.key, Value: w.value}})
		if err != nil {
			p = nil // an older program does not know the question; the change itself will say what is wrong
		}
		return foreseenMsg{w, foreseen{true, p}}
	}
}

// foresee takes an answer, unless another question is open by now.
func (c *control) foresee(msg foreseenMsg) {
	if msg.wish == c.asking {
		c.foreseen = msg.foreseen
	}
}
