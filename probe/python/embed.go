// Package python holds the agent for Python programs: the Python code inside a PyTorch job
// that memtop attaches to. The agent is in Python, beside this file; this package embeds it
// in memtop, and writes it to where an interpreter finds it.
package python

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"maps"
	"strings"
)

// files is the agent: the package memtop, and the file that starts it in a program that
// does not ask for it. The tests are not embedded.
//
//go:embed memtop/*.py memtop/*/*.py run/sitecustomize.py
var files embed.FS

// noBytecode is the name of an empty file in each folder of the agent. While it is there,
// interpreters can neither write compiled code into the folder nor find planted code: they
// run exactly the files that were checked.
const noBytecode = "__pycache__"

// contents returns the agent's files by path, with slashes.
func contents() map[string][]byte {
	all := make(map[string][]byte)
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			all[path+"/"+noBytecode] = nil
			return nil
		}
		all[path], err = files.ReadFile(path)
		return err
	})
	if err != nil {
		panic("python: " + err.Error()) // it is in the program
	}
	delete(all, "./"+noBytecode)
	return all
}

// Package returns the files of the Python package by path, with slashes.
func Package() map[string][]byte {
	all := contents()
	maps.DeleteFunc(all, func(path string, _ []byte) bool {
		return !strings.HasPrefix(path, "memtop/") || !strings.HasSuffix(path, ".py")
	})
	return all
}

// Version returns the version that the package states.
func Version() string {
	_, text, _ := strings.Cut(string(contents()["memtop/__init__.py"]), "__version__ = \"")
	version, _, _ := strings.Cut(text, "\"")
	return version
}

// Name returns the name of the agent's folder. It contains a hash of the agent's files.
func Name() string { return name(contents()) }

// prefix begins the names of the agent's folders, for all versions.
const prefix = "agent-"

func name(all map[string][]byte) string {
	sum := sha256.New()
	for _, path := range sorted(all) {
		part := sha256.Sum256(all[path])
		sum.Write([]byte(path + "\x00" + hex.EncodeToString(part[:]) + "\n"))
	}
	return prefix + hex.EncodeToString(sum.Sum(nil)[:8])
}
