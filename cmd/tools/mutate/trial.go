package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const survived = "survived"

var errDoesNotCompile = errors.New("it does not compile")

// trial runs tests of a tree with a mutation.
type trial struct {
	tree, python string
	within       time.Duration
}

// try makes a mutation, runs the tests, and takes it back. It returns where it died, or that it survived.
func (t trial) try(ctx context.Context, m mutation) (result string, err error) {
	file := filepath.Join(t.tree, m.file)
	source, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	changed := slices.Concat(source[:m.begin], []byte(m.by), source[m.end:])
	if err := os.WriteFile(file, changed, 0o666); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.WriteFile(file, source, 0o666)) }()
	if strings.HasSuffix(m.file, ".py") {
		return t.inPython(ctx)
	}
	return t.inGo(ctx, "./"+path.Dir(m.file))
}

// inGo runs the tests of a package, then those of the packages that import it, the commands' last.
func (t trial) inGo(ctx context.Context, changed string) (string, error) {
	if err := command(ctx, t.tree, "go", "vet", changed).Run(); err != nil {
		return "", errDoesNotCompile
	}
	importers, err := t.importers(ctx, changed)
	if err != nil {
		return "", err
	}
	for _, tested := range append([]string{changed}, importers...) {
		if died, err := t.fails(ctx, t.tree, "go", "test", "-vet=off", "-failfast", tested); died || err != nil {
			return "died in " + tested, err
		}
	}
	return survived, nil
}

// importers returns the packages that import another one, directly or not, those with the fewest imports first.
func (t trial) importers(ctx context.Context, changed string) ([]string, error) {
	const format = `{{.ImportPath}} {{len .Deps}} {{join .Deps " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`
	name, err := command(ctx, t.tree, "go", "list", changed).Output()
	if err != nil {
		return nil, err
	}
	listed, err := command(ctx, t.tree, "go", "list", "-f", format, "./...").Output()
	if err != nil {
		return nil, err
	}
	type importer struct {
		path  string
		count int
	}
	var found []importer
	for l := range bytes.Lines(listed) {
		fields := strings.Fields(string(l))
		if !slices.Contains(fields[2:], strings.TrimSpace(string(name))) {
			continue
		}
		one := importer{path: fields[0]}
		if _, err := fmt.Sscan(fields[1], &one.count); err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	slices.SortStableFunc(found, func(a, b importer) int { return a.count - b.count })
	paths := make([]string, len(found))
	for i := range found {
		paths[i] = found[i].path
	}
	return paths, nil
}

// inPython runs the agent's tests.
func (t trial) inPython(ctx context.Context) (string, error) {
	died, err := t.fails(ctx, filepath.Join(t.tree, "probe/python"), t.python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider")
	if died {
		return "died in the agent's tests", err
	}
	return survived, err
}

// fails runs tests in a folder, and reports whether they fail or take too long.
func (t trial) fails(ctx context.Context, folder, name string, arguments ...string) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, t.within)
	defer cancel()
	err := command(limited, folder, name, arguments...).Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return true, nil
	}
	return false, errors.Join(err, ctx.Err())
}
