package python

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// pathVariable names the folders in which interpreters look for modules first.
const pathVariable = "PYTHONPATH"

// starting is the subfolder of the agent that makes interpreters start it.
const starting = "run"

// Environment returns an environment in which interpreters start the agent in the given
// folder as soon as their programs import PyTorch. Nothing else in it changes.
func Environment(environ []string, agent string) []string {
	path := []string{filepath.Join(agent, starting)}
	var changed []string
	for _, variable := range environ {
		name, before, _ := strings.Cut(variable, "=")
		if name != pathVariable {
			changed = append(changed, variable)
		} else if before != "" {
			path = append(path, before)
		}
	}
	return append(changed, pathVariable+"="+strings.Join(path, string(os.PathListSeparator)))
}

// Starts reports whether interpreters start an agent, of any version, in an environment
// given by its variables: it belongs to a program of `memtop run`, or to a child of one.
func Starts(getenv func(name string) string) bool {
	first, _, _ := strings.Cut(getenv(pathVariable), string(os.PathListSeparator))
	agent, last := filepath.Split(first)
	return last == starting && strings.HasPrefix(filepath.Base(agent), prefix)
}

// Ignoring returns the option that makes an interpreter with this command line ignore the
// agent, "" if there is none that memtop can see. A script runs with the options in its
// first line.
func Ignoring(command []string) string {
	if len(command) == 0 {
		return ""
	}
	if isInterpreter(command[0]) {
		return ignoring(command[1:])
	}
	if first := interpreterOf(command[0]); len(first) > 0 && isInterpreter(first[0]) {
		return ignoring(first[1:])
	}
	return ""
}

func isInterpreter(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, "python") || strings.HasPrefix(name, "pypy")
}

// interpreterOf returns the words of a script's first line, without "#!".
func interpreterOf(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() // it was only read
	line, err := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	text, is := strings.CutPrefix(string(line), "#!")
	if err != nil || !is {
		return nil
	}
	fields := strings.Fields(text)
	if len(fields) > 0 && filepath.Base(fields[0]) == "env" {
		fields = slices.DeleteFunc(fields[1:], func(f string) bool { return f == "-S" })
	}
	return fields
}

// ignoring searches the options of an interpreter. They end at the program.
func ignoring(arguments []string) string {
	for i := 0; i < len(arguments); i++ {
		argument := arguments[i]
		if len(argument) < 2 || argument[0] != '-' {
			return ""
		}
		if argument[1] == '-' {
			continue // only one long option takes a value, and that one is no concern here
		}
		for j, letter := range argument[1:] {
			switch letter {
			case 'I', 'E', 'S':
				return "-" + string(letter)
			case 'c', 'm':
				return ""
			case 'W', 'X':
				if j == len(argument)-2 {
					i++ // its value is the next argument
				}
			default:
				continue
			}
			break
		}
	}
	return ""
}
