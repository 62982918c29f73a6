package tui

import (
	"strconv"
	"time"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// liveParts returns the facts about a running program, the most important first.
func liveParts(s *page.Scene) []string {
	parts := []string{"pid " + strconv.Itoa(s.Live().PID)}
	if host := s.Live().Host; host != "" {
		parts[0] += " on " + host
	}
	if r := s.Live().Rank; r != nil && r.World > 1 {
		parts = []string{"rank " + strconv.Itoa(r.Rank) + " of " + strconv.Itoa(r.World), parts[0]}
	}
	if gpu := s.Live().RehearsedOn; gpu != "" {
		parts = append(parts, "rehearsed on an imitated "+gpu)
	}
	at := s.Cursor()
	if step := s.StepAt(at); step != nil {
		parts = append(parts, "step "+screen.Count(int(step.Number)))
		parts = append(parts, settingWords(step.Settings)...)
		parts = append(parts, probeWords(s.StepsTo(at), s.Live())...)
	}
	if s.Index.Device().Overflowed {
		parts = append(parts, "older events let go")
	}
	return parts
}

// placeSettings are the settings that affect memory, the most important first,
// with their form on the second row.
var placeSettings = [...]struct{ key, written string }{{"checkpoint", "ckpt "}, {"amp", "amp "}, {"optimizer", ""}}

// settingWords writes the place settings.
func settingWords(settings []trace.Value) []string {
	var words []string
	for _, t := range placeSettings {
		for _, v := range settings {
			if v.Key == t.key {
				words = append(words, t.written+v.Value)
			}
		}
	}
	return words
}

// probeWords say how much reporting costs the program on average, if enough steps tell,
// in how many of them it measured its memory, and how much it could not report.
func probeWords(steps []trace.Step, l *trace.Live) (words []string) {
	cost := analysis.ProbeCostOf(steps)
	switch {
	case !cost.Known:
	case cost.Elapsed > 0:
		words = append(words, "probe "+screen.Percent(cost.Spent, cost.Elapsed))
	default:
		words = append(words, "probe "+screen.Micros(cost.PerStep()/1000)+"/step")
	}
	if cost.Measured > 0 && cost.Measured < cost.Steps {
		words = append(words, "1 step in "+screen.Count(int((cost.Steps+cost.Measured/2)/cost.Measured))+" measured")
	}
	if lost := l.Dropped + l.DroppedSteps; lost > 0 {
		words = append(words, screen.Count(int(lost))+" dropped")
	}
	return words
}

// live is the state of a screen that shows the present.
const live = "live"

// every says how often news arrives, if that is so seldom that the screen seems
// to stand still.
func (m *Model) every() string {
	if m.options.Interval < time.Second {
		return ""
	}
	return ", every " + strconv.FormatFloat(m.options.Interval.Seconds(), 'g', 3, 64) + " s"
}

// stateText says whether the screen shows the present, and if not, why. bad says
// that only the user can change that.
func (m *Model) stateText(f *file, s *page.Scene) (text string, bad bool) {
	l := s.Live()
	switch {
	case l == nil:
		return "", false
	case f.growth.frozen:
		return "frozen: space goes on", false
	case s.Growing() && !l.Connected:
		return noteOr(l.Note, "connection lost"), true
	case s.Growing() && !s.Following:
		return behindText(s), false
	case s.Growing() && l.Note != "":
		return l.Note, false
	case s.Growing():
		return live + m.every(), false
	case f.grows():
		return noteOr(l.Note, "ended"), true
	case l.Ended != nil:
		return "black box", false
	default:
		return "recording", false
	}
}

func noteOr(note, otherwise string) string {
	if note != "" {
		return note
	}
	return otherwise
}

// behindText says how far the cursor is behind the present.
func behindText(s *page.Scene) string {
	now, then := s.StepAt(s.Last()), s.StepAt(s.Cursor())
	number := int64(0)
	if then != nil {
		number = then.Number
	}
	if now != nil && now.Number > number {
		return screen.Plural(int(now.Number-number), "step") + " back: $ follows"
	}
	return screen.Plural(s.Last()-s.Cursor(), "event") + " back: $ follows"
}
