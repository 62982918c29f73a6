package python

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
)

func TestOptionsThatKeepTheAgentOut(t *testing.T) {
	script := func(line string) string {
		path := filepath.Join(t.TempDir(), "train")
		if err := os.WriteFile(path, []byte(line+"\nprint()\n"), 0o700); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
		return path
	}
	for name, test := range map[string]struct {
		command []string
		want    string
	}{
		"isolated":                             {[]string{"python", "-I", "x.py"}, "-I"},
		"without the environment":              {[]string{"/usr/bin/python3.11", "-u", "-E", "x.py"}, "-E"},
		"without site, among others":           {[]string{"python3", "-uS", "x.py"}, "-S"},
		"with a module, in one word":           {[]string{"python", "-Im", "train"}, "-I"},
		"an option of the program":             {[]string{"python", "x.py", "-I"}, ""},
		"an option of the module":              {[]string{"python", "-m", "train", "-E"}, ""},
		"an option of code":                    {[]string{"python", "-c", "pass", "-S"}, ""},
		"a value that looks like one":          {[]string{"python", "-W", "-I", "x.py"}, ""},
		"a value in the same word":             {[]string{"python", "-WI", "-Xdev", "x.py"}, ""},
		"after a long option":                  {[]string{"python", "--check-hash-based-pycs=never", "-E", "x.py"}, "-E"},
		"standard input":                       {[]string{"python", "-", "-I"}, ""},
		"no program":                           {[]string{"python"}, ""},
		"nothing at all":                       {nil, ""},
		"another program's option":             {[]string{"torchrun", "-I"}, ""},
		"a script with an option":              {[]string{script("#!/usr/bin/python3 -E")}, "-E"},
		"a script by way of env":               {[]string{script("#!/usr/bin/env python3")}, ""},
		"a script by way of env with options":  {[]string{script("#!/usr/bin/env -S python3 -I")}, "-I"},
		"a script of a shell with such option": {[]string{script("#!/bin/sh -E")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Ignoring(test.command); got != test.want {
				t.Errorf("%q: got %q, want %q", test.command, got, test.want)
			}
		})
	}
}

func TestTheAgentIsInFrontOfThePath(t *testing.T) {
	front := filepath.Join("/a", "run")
	for name, test := range map[string]struct{ environ, want []string }{
		"no path before":     {[]string{"A=1"}, []string{"A=1", "PYTHONPATH=" + front}},
		"an empty one":       {[]string{"PYTHONPATH=", "A=1"}, []string{"A=1", "PYTHONPATH=" + front}},
		"one with folders":   {[]string{"PYTHONPATH=b:c", "A=1"}, []string{"A=1", "PYTHONPATH=" + front + ":b:c"}},
		"a variable like it": {[]string{"PYTHONPATHS=b"}, []string{"PYTHONPATHS=b", "PYTHONPATH=" + front}},
	} {
		t.Run(name, func(t *testing.T) {
			equal.Values(t, "differs", test.want, Environment(test.environ, "/a"))
		})
	}
}

func TestAProgramThatBeginsWithAnAgentIsKnownByItsEnvironment(t *testing.T) {
	for name, test := range map[string]struct {
		environment []string
		want        bool
	}{
		"run by memtop":                    {Environment(nil, filepath.Join("/a", Name())), true},
		"run by memtop, with other places": {Environment([]string{"PYTHONPATH=/b"}, filepath.Join("/a", Name())), true},
		"run by nothing":                   {nil, false},
		"with other places":                {[]string{"PYTHONPATH=/b:/c"}, false},
		"with a folder of that name":       {[]string{"PYTHONPATH=/b/run"}, false},
		"from within the agent's folder":   {[]string{"PYTHONPATH=/a/agent-1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			getenv := func(name string) string {
				for _, variable := range test.environment {
					if value, found := strings.CutPrefix(variable, name+"="); found {
						return value
					}
				}
				return ""
			}
			if got := Starts(getenv); got != test.want {
				t.Errorf("it is %t", got)
			}
		})
	}
}
