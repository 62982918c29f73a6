package leak

import "github.com/memtop/memtop/snapshots/trace"

// SiteID numbers a creation site: a stack's number, or minus that of a note with
// the site's tag; 0 is memory of which nothing is known. Numbers stay as long as
// those of the trace's tables do.
type SiteID int32

// Stack returns the stack of the site's allocations, 0 when the site is known by tag
// only.
func (id SiteID) Stack() trace.StackID { return trace.StackID(max(0, id)) }

// Note returns a note with the site's tag, 0 when the site is known by its stack.
func (id SiteID) Note() trace.NoteID { return trace.NoteID(max(0, -id)) }

// Trend says what becomes of the memory of a site from step to step.
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

// Site is where memory is created, and what is held of it: the allocations of
// one stack, or where no stacks are known those of one tag.
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

	Verdict
	// StepsToOOM is after how many more steps growth at this rate, and nothing
	// else, fills the device; −1 when it never does or the device's size is not known.
	StepsToOOM int64
	// LostBytes and LostCount are what the program lost its last reference to.
	LostBytes int64
	LostCount int
}

// Verdict is a trend and how it is known.
type Verdict struct {
	Trend  Trend
	Reason string // in a sentence
	Steps  int    // that it rests on
	// GrowthPerStep is by how many bytes the site grows in a step, on average
	// over those steps; 0 when it is not growing.
	GrowthPerStep int64
}

// HistorySteps is over how many steps the history of a site reaches back.
const HistorySteps = 64

// Level is what a site holds right after a step.
type Level struct {
	Step  int64 // its number
	Event int   // its last
	Count int
	Bytes int64
	// Bridged says that since the level before some events were missing and made
	// up; Changed that a setting changed.
	Bridged, Changed bool
}
