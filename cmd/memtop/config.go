package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/memtop/memtop/cmd/command"
)

// configPath returns the path of the configuration file, "" if the system gives
// no folder for it.
func configPath() string {
	folder := os.Getenv("XDG_CONFIG_HOME")
	if folder == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		folder = filepath.Join(home, ".config")
	}
	return filepath.Join(folder, "memtop", "config.toml")
}

// readConfig reads the part of TOML that a list of settings needs: one key =
// value per line and comments. A value is a string in quotes, a number, true or
// false. A file that does not exist has no settings.
func readConfig(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	config := make(map[string]string)
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		key, value, err := configLine(lines.Text())
		if err != nil {
			return nil, command.Usage(fmt.Sprintf("%s: line %d: %v", path, n, err), "page = \"timeline\"")
		}
		if key != "" {
			config[strings.ReplaceAll(key, "_", "-")] = value
		}
	}
	return config, lines.Err()
}

// configLine reads one line; an empty one has no key.
func configLine(line string) (key, value string, err error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", "", nil
	}
	key, value, ok := strings.Cut(line, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !ok || key == "" || value == "" {
		return "", "", errors.New("not of the form key = value")
	}
	if value[0] == '"' || value[0] == '\'' {
		if value, err = configString(value); err != nil {
			err = fmt.Errorf("%s: %w", key, err)
		}
		return key, value, err
	}
	value, _, _ = strings.Cut(value, "#")
	return key, strings.TrimSpace(value), nil
}

// configString reads a string in quotes, which a comment may follow. A backslash begins an
// escape between double quotes, and none between single ones.
func configString(text string) (string, error) {
	value, rest, closed := strings.Cut(text[1:], text[:1])
	if closed && text[0] == '"' {
		quoted, err := strconv.QuotedPrefix(text)
		if err == nil {
			value, err = strconv.Unquote(quoted)
		}
		if err != nil {
			return "", errors.New("a backslash between double quotes begins an escape: write two for one, or use single quotes")
		}
		rest = text[len(quoted):]
	}
	if rest = strings.TrimSpace(rest); !closed || rest != "" && rest[0] != '#' {
		return "", errors.New("a string that does not end in a quote")
	}
	return value, nil
}
