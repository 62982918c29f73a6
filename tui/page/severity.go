package page

import (
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/screen"
)

// SeverityMark stands before a finding, in the SeverityStyle.
var SeverityMark = [...]rune{analysis.Info: '·', analysis.Warning: '!', analysis.Problem: '✗'}

// SeverityStyle is how a mark looks.
var SeverityStyle = [...]screen.Style{analysis.Info: screen.Plain, analysis.Warning: screen.Warn, analysis.Problem: screen.Bad}
