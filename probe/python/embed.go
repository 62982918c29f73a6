// Package python is the agent for programs in Python: what a PyTorch job has in
// it so that memtop can attach. The agent itself is in Python, beside this file;
// this package has it within memtop, and puts it where an interpreter finds it.
package python

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"maps"
	"strings"
)

// files is the agent: the package memtop, and what starts it in a program that
// does not ask for it. Its tests are no part of it.
//
//go:embed memtop/*.py memtop/control/*.py run/sitecustomize.py
var files embed.FS

// noBytecode is the name of a file in each folder of the agent. As long as it is
// there, interpreters can neither leave compiled code in the folder nor find some
// that was planted: what runs is what was checked.
const noBytecode = "__pycache__"

// contents returns the agent's files by their path, with slashes.
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

// Package returns the files of the Python package by their path, with slashes.
func Package() map[string][]byte {
	all := contents()
	maps.DeleteFunc(all, func(path string, _ []byte) bool {
		return !strings.HasPrefix(path, "memtop/") || !strings.HasSuffix(path, ".py")
	})
	return all
}

// Version returns the version that the package has in itself.
func Version() string {
	_, text, _ := strings.Cut(string(contents()["memtop/__init__.py"]), "__version__ = \"")
	version, _, _ := strings.Cut(text, "\"")
	return version
}

// Name returns what the agent's folder is called: it says what is in it.
func Name() string { return name(contents()) }

// prefix is what names of the agent's folders begin with, of all versions.
const prefix = "agent-"

func name(all map[string][]byte) string {
	sum := sha256.New()
	for _, path := range sorted(all) {
		part := sha256.Sum256(all[path])
		sum.Write([]byte(path + "\x00" + hex.EncodeToString(part[:]) + "\n"))
	}
	return prefix + hex.EncodeToString(sum.Sum(nil)[:8])
}
