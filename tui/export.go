package tui

import (
	"errors"
	"io/fs"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// existsMsg says that the output file already exists.
type existsMsg struct {
	path  string
	again tea.Cmd // overwrites it
}

// askWhere asks for the output file. It suggests the name of the shown file with
// another ending, in the folder in which memtop was started.
func (m *Model) askWhere(label, ending, hint string, write Write) tea.Cmd {
	v := m.file().current()
	if v == nil {
		return page.Say("nothing is loaded yet")
	}
	x, gate, event := v.scene.Index, v.scene.Gate, v.scene.Cursor()
	m.asking = page.NewPrompt(label, stem(m.file().name)+ending, hint, func(path string) tea.Cmd {
		if path == "" {
			return nil
		}
		m.note = "writing " + path + "…"
		return writing(path, false, func(overwrite bool) (err error) {
			gate.Read(func() { err = write(x, event, path, overwrite) })
			return err
		})
	})
	return nil
}

// writing returns the command that writes a file and says how it went.
func writing(path string, overwrite bool, write func(overwrite bool) error) tea.Cmd {
	return func() tea.Msg {
		switch err := write(overwrite); {
		case err == nil:
			return page.Note{Text: "wrote " + path}
		case errors.Is(err, fs.ErrExist) && !overwrite:
			return existsMsg{path, writing(path, true, write)}
		default:
			return page.Note{Text: err.Error()}
		}
	}
}

// askOverwrite asks whether to replace a file.
func (m *Model) askOverwrite(msg existsMsg) {
	name := screen.TruncateLeft(msg.path, minWidth/2)
	m.asking = page.NewPrompt(name+" exists; overwrite it?", "", "y enter: yes · esc: no",
		func(answer string) tea.Cmd {
			if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
				return page.Say("nothing was written")
			}
			return msg.again
		})
}

// endPrompt closes the open prompt, the program's own or the visible page's.
func (m *Model) endPrompt() {
	if m.asking != nil {
		m.asking = nil
		return
	}
	m.visible().EndPrompt()
}

// stem returns a file's name without its folders and its ending.
func stem(path string) string {
	if path == "-" {
		return "memory"
	}
	name := baseName(path)
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		name = name[:dot]
	}
	return name
}
