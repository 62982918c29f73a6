package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// documented is a command line of a page, and what the page says of it. A page's source
// says by comments, which readers do not see, what is special about its commands: about
// those of the next block of code, or about those of the page that begin with a text.
//
//	<!-- not run: needs a GPU -->      <!-- not run `make release`: is a test of its own -->
//	<!-- exits 10 -->                  <!-- exits 10 `memtop check` -->
type documented struct {
	where string // page and line
	text  string // as the page has it
	shows []shown

	name   bool // of a command in a sentence, without what it takes
	exits  int
	notRun string // why not
}

// shown is what a page says that comes, after some keys if it is a screen.
type shown struct {
	keys  []string
	lines []string
}

var (
	spanned = regexp.MustCompile("`((?:memtop|memtrain|go run \\./cmd/\\w+) [^`]*)`")
	remark  = regexp.MustCompile("^<!-- (not run|exits)(?: (\\d+))?(?: `([^`]+)`)?(?:: (.+))? -->$")
	named   = regexp.MustCompile(`^memtop \S+$|…`)
	alone   = regexp.MustCompile(`^memtop (ls|info|demo|attach|metrics|FILE|PID)$`)
	pressed = regexp.MustCompile(`^\(press (.+)\)$`)
)

// remarked is what a comment says of commands.
type remarked struct {
	where, kind, number, begins, why string
	used                             bool
}

func (r *remarked) mark(c *documented) {
	r.used = true
	switch r.kind {
	case "not run":
		c.notRun = r.why
	case "exits":
		c.exits, _ = strconv.Atoi(r.number) // digits
	}
}

// pageReader goes through the lines of a page.
type pageReader struct {
	page     string
	found    []documented
	remarks  []*remarked // of the page
	next     []*remarked // of the next block
	fence    string      // the language of the block of code, if within one
	within   bool
	previous *documented // the command of a block whose output follows
}

// commandsOf returns the commands of a page: within sentences, and in blocks of code that
// are "sh", a command a line, or "console", where $ precedes a command and what it prints
// follows. The error says what is wrong with the page's remarks.
func commandsOf(page, text string) ([]documented, error) {
	r := pageReader{page: page}
	number := 0
	for line := range strings.Lines(text) {
		number++
		r.line(fmt.Sprintf("%s:%d", page, number), strings.TrimRight(line, " \n"))
	}
	for i := range r.found {
		for _, remark := range r.remarks {
			if strings.HasPrefix(r.found[i].text, remark.begins) {
				remark.mark(&r.found[i])
			}
		}
	}
	for _, remark := range append(r.remarks, r.next...) {
		if !remark.used {
			return nil, fmt.Errorf("%s: the remark is about no command", remark.where)
		}
	}
	return r.found, nil
}

func (r *pageReader) line(where, line string) {
	trimmed := strings.TrimSpace(line)
	switch found := remark.FindStringSubmatch(trimmed); {
	case strings.HasPrefix(trimmed, "```"):
		r.within, r.fence, r.previous = !r.within, strings.TrimPrefix(trimmed, "```"), nil
		if !r.within {
			r.next = slices.DeleteFunc(r.next, func(remark *remarked) bool { return remark.used })
		}
	case r.within:
		r.code(where, line)
	case found != nil:
		remark := &remarked{where: where, kind: found[1], number: found[2], begins: found[3], why: found[4]}
		if remark.begins == "" {
			r.next = append(r.next, remark)
		} else {
			r.remarks = append(r.remarks, remark)
		}
	default:
		for _, match := range spanned.FindAllStringSubmatch(line, -1) {
			r.add(where, match[1]).name = named.MatchString(match[1]) && !alone.MatchString(match[1])
		}
	}
}

// code reads a line of a block of code.
func (r *pageReader) code(where, line string) {
	switch {
	case r.fence == "sh" && line != "" && !strings.HasPrefix(line, "#"):
		r.add(where, line)
	case r.fence == "console" && strings.HasPrefix(line, "$ "):
		r.previous = r.add(where, strings.TrimPrefix(line, "$ "))
		r.previous.shows = make([]shown, 1)
	case r.fence == "console" && r.previous != nil:
		last := &r.previous.shows[len(r.previous.shows)-1]
		if keys := pressed.FindStringSubmatch(line); keys != nil {
			r.previous.shows = append(r.previous.shows, shown{keys: strings.Fields(keys[1])})
		} else {
			last.lines = append(last.lines, line)
		}
	}
}

// add notes a command; a comment follows two spaces and #. The result is valid until
// the next one is added.
func (r *pageReader) add(where, line string) *documented {
	line, _, _ = strings.Cut(line, "  #")
	r.found = append(r.found, documented{where: where, text: strings.TrimSpace(line)})
	c := &r.found[len(r.found)-1]
	if r.within {
		for _, remark := range r.next {
			remark.mark(c)
		}
	}
	return c
}

// documentation returns the commands of every page that users read.
func documentation(t *testing.T) map[string][]documented {
	t.Helper()
	const root = "../.."
	pages := []string{"README.md", "SECURITY.md", "CONTRIBUTING.md"}
	err := fs.WalkDir(os.DirFS(root), "docs", func(name string, d fs.DirEntry, err error) error {
		if d.Name() == "decisions" {
			return fs.SkipDir // they say what was, when it was decided
		}
		if filepath.Ext(name) == ".md" {
			pages = append(pages, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]documented)
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		if all[page], err = commandsOf(page, string(text)); err != nil {
			t.Error(err)
		}
	}
	return all
}

// TestCommandsOfTheDocumentationExist gives each command of the pages to the command
// line's parser: the command must be there, with its flags and as many arguments.
func TestCommandsOfTheDocumentationExist(t *testing.T) {
	found := 0
	for _, commands := range documentation(t) {
		for _, c := range commands {
			if !strings.HasPrefix(c.text, "memtop ") {
				continue
			}
			found++
			if err := parses(c.text); err != nil {
				t.Errorf("%s: %s: %v", c.where, c.text, err)
			}
		}
	}
	if found < 100 {
		t.Errorf("the pages have %d commands", found)
	}
}

// TestTheReferenceHasEveryCommand looks for each command of the help in the reference.
func TestTheReferenceHasEveryCommand(t *testing.T) {
	page := string(contents(t, "../../docs/commands.md"))
	for _, c := range newApp(io.Discard, io.Discard).root().Commands() {
		if !c.Hidden && !strings.Contains(page, "memtop "+c.Name()) {
			t.Errorf("docs/commands.md does not have memtop %s", c.Name())
		}
	}
}

// leftOut are the words of pages for what needs no command.
var leftOut = map[string]bool{"FILE": true, "PID": true, "train.py": true}

// parses returns why a documented command is none.
func parses(line string) error {
	line, _, _ = strings.Cut(line, " | ")
	root := newApp(io.Discard, io.Discard).root()
	root.InitDefaultHelpCmd()
	root.InitDefaultVersionFlag()
	root.InitDefaultCompletionCmd()
	args := strings.Fields(line)[1:]
	found, rest, err := root.Find(args)
	switch {
	case err != nil:
		return err
	case found == root && !strings.HasPrefix(args[0], "-") && !leftOut[args[0]]:
		return unknownCommand(root, args)
	}
	return found.ParseFlags(rest)
}
