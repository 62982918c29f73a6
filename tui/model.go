package tui

import (
	"cmp"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
	rankspage "github.com/memtop/memtop/tui/ranks"
	"github.com/memtop/memtop/tui/screen"
)

// The smallest usable screen, and the rows of the frame: tabs and place above,
// keys below.
const (
	minWidth   = 60
	minHeight  = 16
	headerRows = 2
	frameRows  = headerRows + 1
)

// Model is the whole screen. The program that runs it owns it.
type Model struct {
	options Options
	files   []*file
	at      int // the file that is shown
	w, h    int
	global  globalKeys
	theme   *screen.Theme
	page    string
	trail   []string     // pages to which Esc returns
	help    *help        // nil when closed
	asking  *page.Prompt // the model's own prompt, nil for none
	control control
	leaving *leaving // nil unless the question is open
	job     job
	whatIf  whatIf
	still   still
	note    string
	now     func() time.Time
	tick    func(*file) tea.Cmd
	later   func(tea.Cmd) tea.Cmd // delays a command until the next frame is drawn
	unseen  bool                  // a device's pages are new, and not drawn yet
}

// New returns the screen for files. It is run with tea.NewProgram.
func New(files []File, o Options) *Model {
	m := &Model{
		options: o, global: newGlobalKeys(), control: newControl(o.Own), page: cmp.Or(pageNamed(o.Page), page.Overview),
		theme: screen.NewTheme(o.colour(), o.ASCII), now: time.Now, tick: tick, later: later,
	}
	all, _ := o.Ranks.(AllRanks)
	for i, f := range files {
		m.files = append(m.files, &file{name: f.Name, load: f.Load, live: f.Live, listen: listen, whatIf: o.WhatIf, job: all, at: i})
	}
	m.theme.Use(o.Theme)
	m.job = newJob(o.Ranks, m.theme)
	if o.Ranks != nil {
		m.global.of("]").SetHelp("]", "next rank")
		m.global.of("[").SetHelp("[", "previous rank")
		m.page = cmp.Or(pageNamed(o.Page), page.Ranks)
	}
	m.whatIf = newWhatIf(o.WhatIf, m.global)
	m.global.of("w").SetEnabled(o.WhatIf != nil)
	m.global.of("x").SetEnabled(o.Export != nil)
	m.global.of("s").SetEnabled(o.Save != nil)
	if len(files) < 2 {
		keys.Disable(m.global.of("]"), m.global.of("["))
	}
	return m
}

// tick asks for the next look at the progress of a load.
func tick(f *file) tea.Cmd {
	attempt := f.attempt
	return tea.Tick(50*time.Millisecond, func(time.Time) tea.Msg { return tickMsg{f, attempt} })
}

// later begins a command after a frame. The questions of a page of a large file
// keep all processors busy, and would delay the frame with the data that the page
// already has.
func later(cmd tea.Cmd) tea.Cmd {
	return tea.Tick(drawn, func(time.Time) tea.Msg { return cmd() })
}

// drawn is the longest time until the screen draws a change: it draws 30 times a
// second.
const drawn = time.Second / 30

// Init starts loading the first file.
func (m *Model) Init() tea.Cmd {
	if len(m.files) == 0 {
		return tea.Quit
	}
	first := tea.Batch(m.show(m.options.First), m.job.begin())
	if !m.theme.Colour {
		return first
	}
	return tea.Batch(first, tea.RequestBackgroundColor)
}

// show goes to file i and loads it unless it was loaded before. In a rank the
// cursor keeps its place from the rank before.
func (m *Model) show(i int) tea.Cmd {
	at := moment{}
	if v := m.file().current(); v != nil && m.job.source != nil {
		at = momentOf(v.scene)
	}
	m.at = (i + len(m.files)) % len(m.files)
	m.trail = nil
	f := m.files[m.at]
	away := m.looked(f)
	f.arriveAt(at)
	if f.state != idle {
		return away
	}
	return tea.Batch(m.load(f), away)
}

func (m *Model) load(f *file) tea.Cmd { return tea.Batch(f.start(m.now()), m.tick(f)) }

// file returns the file that is shown.
func (m *Model) file() *file { return m.files[m.at] }

// visible returns the shown page, nil for none yet.
func (m *Model) visible() page.Page {
	if len(m.files) == 0 {
		return nil
	}
	if m.shown() == page.Ranks {
		return m.job.page // also while a rank loads, or if it failed to load
	}
	if v := m.file().current(); v != nil {
		return v.pages[m.shown()]
	}
	return nil
}

// Update routes a message in a fixed order: interrupt, size, modal, global keys,
// focused page, data. After that it takes the news of a running program, and the
// visible page asks for missing data. While the screen stands still, keys wait.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if key, ok := msg.(tea.KeyPressMsg); ok && matches(key, *m.global.of("ctrl+c")) {
		return m, m.quit(tea.Interrupt)
	}
	if m.holds(msg) {
		return m, m.goOn()
	}
	return m, tea.Batch(m.route(msg), m.catchUp(), m.follow(), m.refresh(), m.goOn())
}

func (m *Model) route(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
		if m.help != nil {
			m.help.resize(m.w, m.h-frameRows)
		}
		return nil
	case tea.ColorProfileMsg:
		m.profile(msg.Profile)
		return nil
	case tea.BackgroundColorMsg:
		m.theme.SetLight(!msg.IsDark())
		return nil
	case tea.KeyPressMsg:
		m.note = ""
		return m.press(msg)
	case tea.PasteMsg:
		return m.paste(msg)
	case tea.MouseMsg:
		return m.mouse(msg)
	}
	return m.data(msg)
}

// profile takes the terminal's colour profile.
func (m *Model) profile(p colorprofile.Profile) {
	if m.options.Color != "always" && m.theme.Colour {
		m.theme.SetColour(p > colorprofile.ASCII, p < colorprofile.ANSI256)
	}
}

// press gives a key to the open modal, the global keys or the page.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	if m.leaving != nil {
		return m.leavingKey(msg)
	}
	if m.help != nil {
		if m.help.key(msg) {
			m.help = nil
		}
		return nil
	}
	if m.control.asking != nil {
		return m.questionKey(msg)
	}
	if m.whatIf.open {
		if cmd, mine := m.whatIfKey(msg); mine {
			return cmd
		}
	}
	if p := m.prompt(); p != nil {
		cmd, done := p.Key(msg)
		if done {
			m.endPrompt()
		}
		return cmd
	}
	m.bind()
	if cmd, ok := m.controlKey(msg); ok {
		return cmd
	}
	if cmd, ok := m.globalKey(msg); ok {
		return cmd
	}
	if p := m.visible(); p != nil {
		return p.Update(msg)
	}
	return nil
}

// prompt returns the open prompt, the program's own or the visible page's.
func (m *Model) prompt() *page.Prompt {
	if m.asking != nil {
		return m.asking
	}
	if p := m.visible(); p != nil {
		return p.Prompting()
	}
	return nil
}

func (m *Model) paste(msg tea.PasteMsg) tea.Cmd {
	if p := m.prompt(); p != nil {
		p.Paste(msg.Content)
	}
	return nil
}

// data handles the results of commands.
func (m *Model) data(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ask.Reply:
		msg.Deliver()
	case loadedMsg:
		return msg.file.loaded(msg, m.options.Device, m.theme)
	case indexedMsg:
		msg.scene.ReadOnly = m.options.ReadOnly
		m.introduce(msg.file, msg.scene)
		msg.file.indexed(msg)
		m.unseen = true
		m.note = cmp.Or(m.lacks(m.page), m.note)
	case tickMsg:
		if msg.file.state == loading && msg.file.attempt == msg.attempt {
			return m.tick(msg.file)
		}
	case changedMsg:
		return msg.file.changed(msg, m.theme)
	case paceMsg:
		msg.file.growth.pausing = false
	case replacedMsg:
		m.replaced(msg)
	case existsMsg:
		m.askOverwrite(msg)
	case rowsMsg:
		return m.takeRows()
	case rankspage.Enter:
		return m.enter(msg.At)
	case page.ReadRival:
		return m.readRival()
	case page.Note:
		m.note = msg.Text
	case page.Go:
		m.trail = append(m.trail, m.shown())
		m.goTo(msg.Page)
	default:
		if cmd, ok := m.controlData(msg); ok {
			return cmd
		}
		if p := m.visible(); p != nil {
			return p.Update(msg)
		}
	}
	return nil
}

// catchUp takes the news of the shown file.
func (m *Model) catchUp() tea.Cmd {
	if len(m.files) == 0 || m.still.frame != "" {
		return nil
	}
	pace := time.Duration(0)
	if p := m.visible(); p != nil {
		pace = p.Pace(m.w, m.h)
	}
	return m.file().catchUp(m.now(), pace)
}

// refresh lets the visible page ask for missing data.
func (m *Model) refresh() tea.Cmd {
	p := m.visible()
	if p == nil || m.tooSmall() {
		return nil
	}
	cmd := p.Refresh(m.w, m.h-frameRows)
	if m.unseen && cmd != nil {
		m.unseen = false
		return m.later(cmd)
	}
	return cmd
}

func (m *Model) tooSmall() bool { return m.w < minWidth || m.h < minHeight }

// matches is key.Matches, short for the long switches.
func matches(msg tea.KeyPressMsg, b ...key.Binding) bool { return key.Matches(msg, b...) }
