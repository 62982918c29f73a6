package page

import (
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/screen"
)

// Prompt is one line of text being typed, at the bottom of the screen.
type Prompt struct {
	Label string
	Hint  string
	text  []rune
	done  func(string) tea.Cmd
}

// NewPrompt returns a prompt that begins with text, and calls done with the typed
// text at Enter.
func NewPrompt(label, text, hint string, done func(string) tea.Cmd) *Prompt {
	return &Prompt{Label: label, Hint: hint, text: []rune(text), done: done}
}

// Text returns what has been typed.
func (p *Prompt) Text() string { return string(p.text) }

// Paste adds text as if it had been typed.
func (p *Prompt) Paste(text string) {
	for _, r := range text {
		if r >= ' ' && r != 0x7f {
			p.text = append(p.text, r)
		}
	}
}

// Key handles a key and reports whether the prompt is finished.
func (p *Prompt) Key(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch msg.String() {
	case "enter":
		return p.done(p.Text()), true
	case "esc":
		return nil, true
	case "backspace", "ctrl+h":
		if len(p.text) == 0 {
			return nil, true
		}
		p.text = p.text[:len(p.text)-1]
	case "ctrl+u":
		p.text = nil
	case "ctrl+w":
		p.dropWord()
	default:
		p.Paste(msg.Text)
	}
	return nil, false
}

func (p *Prompt) dropWord() {
	n := len(p.text)
	for n > 0 && p.text[n-1] == ' ' {
		n--
	}
	for n > 0 && p.text[n-1] != ' ' {
		n--
	}
	p.text = p.text[:n]
}

// Draw draws the prompt on row y.
func (p *Prompt) Draw(c screen.Canvas, y int) {
	x := c.Text(0, y, " "+p.Label+" ", screen.Title)
	room := c.Width() - x - 2
	text := screen.TruncateLeft(string(p.text), room)
	x = c.Text(x, y, text, screen.Strong)
	c.Set(x, y, ' ', screen.Selected)
	if hint := "  " + p.Hint; screen.Width(hint) < c.Width()-x-2 {
		c.Text(x+1, y, hint, screen.Dim)
	}
}

// Prompts holds the open prompt of a page, if any.
type Prompts struct{ open *Prompt }

// Prompting returns the open prompt, nil when there is none.
func (p *Prompts) Prompting() *Prompt { return p.open }

// EndPrompt closes it.
func (p *Prompts) EndPrompt() { p.open = nil }

// Ask opens a prompt that begins with text, and calls done with the typed text at
// Enter.
func (p *Prompts) Ask(label, text, hint string, done func(string) tea.Cmd) {
	p.open = NewPrompt(label, text, hint, done)
}
