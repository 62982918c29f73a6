package main

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/probe/python"
)

// agentFolders returns where the agent may be put for programs that this user starts: in
// the cache, or beside the sockets where there can be no cache.
func agentFolders() []string {
	folders := []string{protocol.Folder()}
	if cache := cachePath(); cache != "" {
		folders = append([]string{filepath.Join(cache, "agents")}, folders...)
	}
	return folders
}

// unpackAgent puts the agent there and returns the folder that it is. The error is
// about the first place, which is the one to put right.
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
	// The way to one's own folder may lead through links of one's own; [python.Open] takes none.
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

// agentText says where the agent is, or would be.
func agentText() string {
	folders := agentFolders()
	for _, folder := range folders {
		if path := filepath.Join(folder, python.Name()); present(path) == path {
			return path
		}
	}
	return present(filepath.Join(folders[0], python.Name()))
}
