package sensor

import (
	"errors"

	"github.com/memtop/memtop/probe/survey"
	"github.com/memtop/memtop/snapshots/trace"
)

// readSurvey reads a surveyed step, as memtop/settings/checkpointing.py sends it.
func readSurvey(r *reader) (device int, s *survey.Step) {
	device = int(r.number())
	s = &survey.Step{Storages: list(r, readStorage), Moments: list(r, readMoment), Blocks: list(r, readBlock)}
	s.Values = list(r, readValue)
	for _, m := range s.Moments {
		if m.Storage >= int64(len(s.Storages)) {
			r.fail(errors.New("a surveyed step is about storages that it does not have"))
		}
	}
	return device, s
}

func readValue(r *reader) trace.Value {
	r.items()
	return trace.Value{Key: r.text(), Value: r.text()}
}

func readStorage(r *reader) survey.Storage {
	r.items()
	return survey.Storage{
		Addr: r.unsigned(), Size: r.number(), Made: r.number(), Cast: r.truth(),
		Saved: list(r, (*reader).number), Given: list(r, (*reader).number),
	}
}

func readMoment(r *reader) survey.Moment {
	r.items()
	return survey.Moment{Storage: r.number(), Requests: r.number(), Before: r.text(), After: r.text()}
}

func readBlock(r *reader) survey.Block {
	r.items()
	return survey.Block{Name: r.text(), Calls: list(r, (*reader).number), Half: r.truth(), Uncached: r.truth()}
}
