package overview

import (
	"github.com/memtop/memtop/snapshots/analysis/card"
	"github.com/memtop/memtop/tui/screen"
)

// cardLedger shows who has the device's memory, if more is known than the waterfall
// shows.
func (p *Page) cardLedger(compact bool) section {
	f, ok := p.asked.Answer()
	if !ok || f.cardGauge == nil || f.cardGauge.Card == nil && len(f.cardGauge.Users) == 0 && !f.cardGauge.Unified {
		return section{}
	}
	l := &f.card
	rows := make([]fall, len(l.Rows))
	for i, row := range l.Rows {
		rows[i] = fall{name: row.Name, bytes: row.Bytes, style: cardStyle(row.Kind, i)}
	}
	s := p.ledgerSection("On the device", cardText(l), rows, l.Bytes, compact)
	if compact || !l.Unwatched {
		return s
	}
	return section{s.rows + 1, func(c screen.Canvas) {
		s.draw(c)
		c.Fit(1, s.rows, c.Width()-2, "memtop run --driver-calls would see which libraries take it", screen.Dim)
	}}
}

// cardText says how much is left, how full a server's cache is, and what is asleep.
func cardText(l *card.Ledger) string {
	text := "= " + screen.Bytes(l.Bytes)
	if l.Total >= 0 {
		text += ", " + screen.Bytes(max(0, l.Total-l.Bytes)) + " left"
	}
	if use := l.InUse(); use != "" {
		return text + ", KV cache " + use
	}
	switch {
	case l.Unified:
		return text + " of the machine"
	case l.Asleep > 0:
		return text + ", " + screen.Bytes(l.Asleep) + " asleep"
	}
	return text
}

// cardStyle gives rows of one kind that lie side by side different colours.
func cardStyle(k card.Kind, place int) screen.Style {
	switch k {
	case card.Unexplained:
		return screen.Bad
	case card.Rounding:
		return screen.Style{Fg: screen.Warning}
	case card.Driver, card.Outside, card.Machine:
		return screen.Style{Fg: screen.Muted}
	case card.Imported, card.Process, card.Others:
		return screen.Style{Fg: screen.Held}
	default:
		return screen.Style{Fg: screen.Band(place)}
	}
}
