package leak

import "github.com/memtop/memtop/snapshots/trace"

// SiteID numbers a creation site. It is the number of a stack, or minus the
// number of a note with the site's tag. 0 is memory of which nothing is known.
// The ids stay valid as long as the numbers of the trace's tables do.
type SiteID int32

// Stack returns the stack of the site's allocations, 0 if the site is known only
// by its tag.
func (id SiteID) Stack() trace.StackID { return trace.StackID(max(0, id)) }

// Note returns a note with the site's tag, 0 if the site is known by its stack.
func (id SiteID) Note() trace.NoteID { return trace.NoteID(max(0, -id)) }

// Trend says how the memory of a site develops from step to step.
type Trend uint8

// The trends, the more worrying the later.
const (
	Undecided   Trend = iota // too few steps were seen
	Steady                   // no more after a step than before it
	Warming                  // it grew, and has stopped or is slowing down, as a cache does
	ShapeDriven              // as many tensors as before, of other sizes
	Growing                  // it grows, and might still turn out to be a cache
	Suspected                // it grows in a way that caches do not
	Unreachable              // the program lost the only way to it, and never released it
)

// String returns the trend in the words of reports.
func (t Trend) String() string {
	return [...]string{
		"undecided", "steady", "cache warming up", "shape-driven", "growing", "suspected leak", "unreachable but never released",
	}[t]
}

// Alarming reports whether the trend is something to act on.
func (t Trend) Alarming() bool { return t >= Growing }

// Site is a place that creates memory, with the memory of it that is still held.
// A site has the allocations of one stack or, if no stacks are known, those of
// one tag.
type Site struct {
	ID       SiteID
	Name     string         // printable
	Category trace.Category // of most of its bytes
	Guessed  bool           // the category is
	Bytes    int64          // requested bytes held right now
	Count    int
	History  []Level // right after the last steps, the oldest first, HistorySteps at most
	Oldest   int64   // age in steps of its oldest allocation, −1 where no steps are known
	AtLeast  bool    // it was made before the events
	InPart   bool    // only some of its memory was seen: bytes and growth are the least

	Verdict
	// StepsToOOM is the number of steps after which this growth alone fills the
	// device. It is −1 if the site does not grow or the device's size is not
	// known.
	StepsToOOM int64
	// LostBytes and LostCount are the allocations whose last reference the
	// program lost.
	LostBytes int64
	LostCount int
}

// LeastWord is what a sentence says before the site's numbers: nothing, or that they are
// the least.
func (s *Site) LeastWord() string {
	if s.InPart {
		return "at least "
	}
	return ""
}

// Verdict is a trend and the reason for it.
type Verdict struct {
	Trend  Trend
	Reason string // in a sentence
	Steps  int    // that it rests on
	// GrowthPerStep is the average growth of the site per step, in bytes, over
	// those steps; 0 if it does not grow.
	GrowthPerStep int64
}

// HistorySteps is how many steps the history of a site covers at most.
const HistorySteps = 64

// Level is the memory of a site right after a step.
type Level struct {
	Step  int64 // its number
	Event int   // its last
	Count int
	Bytes int64
	// Bridged says that since the level before some events were missing and made
	// up; Changed that a setting changed.
	Bridged, Changed bool
}
