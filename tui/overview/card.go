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
	return p.ledgerSection("On the device", cardText(l, compact), rows, l.Bytes, compact)
}

// cardText says how much is left, and what is not known.
func cardText(l *card.Ledger, compact bool) string {
	text := "= " + screen.Bytes(l.Bytes)
	if l.Total >= 0 {
		text += ", " + screen.Bytes(max(0, l.Total-l.Bytes)) + " left"
	}
	switch {
	case l.Unified:
		return text + " of the machine"
	case l.Asleep > 0:
		return text + ", " + screen.Bytes(l.Asleep) + " asleep"
	case !l.Watched && !compact:
		return text + " · memtop run --driver-calls sees which libraries take it"
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
