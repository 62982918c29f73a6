package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/quantity"
)

// Text writes, for each limit, whether it holds, and the sites that exceed one,
// in lines of at most width cells.
func (g *Gate) Text(w io.Writer, width int) error {
	p := newPage(w, width)
	g.lines(p)
	return p.w.Flush()
}

func (g *Gate) lines(p *page) {
	if len(g.Devices) == 0 {
		p.line("No device has a segment or an event.")
	}
	for i := range g.Devices {
		d := &g.Devices[i]
		if d.Peak != nil {
			d.Peak.text(p, d)
		}
		if d.Growth != nil {
			d.Growth.text(p, d)
		}
		if d.Host != nil {
			d.Host.text(p)
		}
	}
}

// Broken says in one sentence which limits are exceeded, "" when none is.
func (g *Gate) Broken() string {
	var broken []string
	for i := range g.Devices {
		d := &g.Devices[i]
		if d.Peak != nil && d.Peak.Exceeded {
			is, limit := d.Peak.RequestedBytes, d.Peak.LimitBytes
			broken = append(broken, fmt.Sprintf("the peak of device %d, %s, is more than %s",
				d.Device, apart(is, limit), apart(limit, is)))
		}
		if d.Growth != nil && d.Growth.Exceeded {
			is, limit := d.Growth.BytesPerStep, d.Growth.LimitBytesPerStep
			broken = append(broken, fmt.Sprintf("device %d grows by %s per step, more than %s",
				d.Device, apart(is, limit), apart(limit, is)))
		}
	}
	if h := g.host(); h != nil && h.Exceeded {
		broken = append(broken, fmt.Sprintf("memory of the host grows by %s per step, more than %s",
			apart(h.BytesPerStep, h.LimitBytesPerStep), apart(h.LimitBytesPerStep, h.BytesPerStep)))
	}
	return strings.Join(broken, "; ")
}

// host returns the check of the host's memory, nil if there is none.
func (g *Gate) host() *GateHost {
	if len(g.Devices) == 0 {
		return nil
	}
	return g.Devices[0].Host
}

// apart writes a size so that it differs from another: in bytes if the short
// forms are the same.
func apart(n, other int64) string {
	if n != other && quantity.Bytes(n) == quantity.Bytes(other) {
		return strconv.FormatInt(n, 10) + " B"
	}
	return quantity.Bytes(n)
}

// kept is the first word of a gate's line.
func kept(exceeded bool) string {
	if exceeded {
		return "FAIL "
	}
	return "ok   "
}

func (l *GatePeak) text(p *page, d *GateDevice) {
	when := "at event " + quantity.Count(l.Event)
	if l.Event < 0 {
		when = "before the first event"
	}
	p.wrap(kept(l.Exceeded), fmt.Sprintf("device %d: the peak is %s %s, the limit %s", d.Device,
		apart(l.RequestedBytes, l.LimitBytes), when, apart(l.LimitBytes, l.RequestedBytes)))
	for i := range l.Sites {
		s := &l.Sites[i]
		lead := fmt.Sprintf("  %9s %3d%% %6dx ", quantity.Bytes(s.Bytes), analysis.Percent(s.Bytes, l.RequestedBytes), s.Count)
		s.lines(p, lead)
	}
}

// lines writes a site: the frames that tell most below each other, with a lead before the
// first.
func (s *GateSite) lines(p *page, lead string) {
	if s.telling == nil {
		s.telling = s.Frames
	}
	for _, label := range s.telling[:min(len(s.telling), siteFrames)] {
		place, _, _ := strings.Cut(label, " ")
		p.line("%s%s", lead, withFolders(label, label[strings.LastIndexAny(place, `/\`)+1:], p.width-cells(lead)))
		lead = strings.Repeat(" ", cells(lead))
	}
}

func (l *GateGrowth) text(p *page, d *GateDevice) {
	p.wrap(kept(l.Exceeded), fmt.Sprintf("device %d: memory grows by %s per step over %d steps, the limit %s", d.Device,
		apart(l.BytesPerStep, l.LimitBytesPerStep), l.Steps, apart(l.LimitBytesPerStep, l.BytesPerStep)))
	if l.Exceeded && len(l.Sites) == 0 {
		p.line("  no single stack grows in every step")
	}
	for i := range l.Sites {
		s := &l.Sites[i]
		s.lines(p, fmt.Sprintf("  %9s per step, now %9s %6dx ", quantity.Bytes(s.BytesPerStep), quantity.Bytes(s.Bytes), s.Count))
	}
}

func (l *GateHost) text(p *page) {
	p.wrap(kept(l.Exceeded), fmt.Sprintf("host: memory grows by %s per step over %d steps, the limit %s",
		apart(l.BytesPerStep, l.LimitBytesPerStep), l.Steps, apart(l.LimitBytesPerStep, l.BytesPerStep)))
	if !l.Exceeded {
		return
	}
	for _, row := range l.Leaks {
		p.line("  %9s per step  %s", quantity.Bytes(row.GrowthPerStep), row.Name)
	}
}
