package main

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/probe/python"
)

// agentFolders returns the folders for the agent of programs that this user
// starts: the cache, or the folder beside the sockets if there can be no cache.
func agentFolders() []string {
	folders := []string{protocol.Folder()}
	if cache := cachePath(); cache != "" {
		folders = append([]string{filepath.Join(cache, "agents")}, folders...)
	}
	return folders
}

// unpackAgent writes the agent to the first of these folders that works, and
// returns it. The error is about the first folder, because the user should fix
// that one.
func unpackAgent() (string, error) {
	var failed error
	for _, folder := range agentFolders() {
		agent, err := unpackIn(folder)
		if err == nil {
			return agent, nil
		}
		failed = cmp.Or(failed, err)
	}
	return "", failed
}

func unpackIn(folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return "", err
	}
	// The path may contain the user's own links, but [python.Open] follows none.
	above, err := filepath.EvalSymlinks(filepath.Dir(folder))
	if err != nil {
		return "", err
	}
	root, err := python.Open("/", filepath.Join(above, filepath.Base(folder)))
	if err != nil {
		return "", err
	}
	defer root.Close() // every file in it is closed
	agent, err := python.Unpack(root)
	return filepath.Join(folder, agent), err
}

// agentText returns the folder where the agent is, or would be.
func agentText() string {
	folders := agentFolders()
	for _, folder := range folders {
		if path := filepath.Join(folder, python.Name()); present(path) == path {
			return path
		}
	}
	return present(filepath.Join(folders[0], python.Name()))
}
