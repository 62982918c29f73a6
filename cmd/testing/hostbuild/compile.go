package hostbuild

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/memtop/memtop/engine/device/cuda/kernels/source"
)

// Compiling takes seconds, and several packages' tests need the result. So it is kept in
// the user's cache, in a folder of its own for all that it depends on. A process that
// comes while another compiles the same waits for it.

// kept is how long a build stays that nothing has asked for.
const kept = 7 * 24 * time.Hour

// compiled returns the path of a library made of C++ that may include the kernels' sources.
func compiled(ctx context.Context, optimisation, text string) (string, error) {
	compiler, err := findCompiler()
	if err != nil {
		return "", err
	}
	folder, err := folderFor(ctx, compiler, optimisation, text)
	if err != nil {
		return "", fmt.Errorf("hostbuild: %w", err)
	}
	unlock, err := lock(filepath.Join(folder, "lock"))
	if err != nil {
		return "", fmt.Errorf("hostbuild: %w", err)
	}
	defer unlock()
	path := filepath.Join(folder, "kernels.so")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, compile(ctx, compiler, optimisation, text, path)
}

func compile(ctx context.Context, compiler, optimisation, text, path string) error {
	folder, err := os.MkdirTemp(filepath.Dir(path), "making")
	if err != nil {
		return fmt.Errorf("hostbuild: %w", err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // what stays is removed with the folder around it
	if err := writeSources(folder, text); err != nil {
		return fmt.Errorf("hostbuild: %w", err)
	}
	command := exec.CommandContext(ctx, compiler, "-x", "c++", "-std=c++17", optimisation, "-DMEMTOP_HOST", "-U_FORTIFY_SOURCE",
		"-ffp-contract=off", "-fno-strict-aliasing", "-fPIC", "-shared", "-w", "-o", "made.so", "build.cpp")
	command.Dir = folder
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("hostbuild: %s: %w\n%s", compiler, err, said)
	}
	return os.Rename(filepath.Join(folder, "made.so"), path)
}

// folderFor returns the folder for what comes of a text and all sources by a compiler. It
// removes folders that nothing has asked for in a while.
func folderFor(ctx context.Context, compiler, optimisation, text string) (string, error) {
	version, err := exec.CommandContext(ctx, compiler, "--version").Output()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, compiler, string(version), optimisation, text)
	err = source.Each(func(name string, text []byte) error {
		_, err := fmt.Fprintln(sum, name, string(text))
		return err
	})
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	all := filepath.Join(cache, "memtop-tests")
	folder := filepath.Join(all, fmt.Sprintf("%x", sum.Sum(nil)[:8]))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	now := time.Now()
	if err := os.Chtimes(folder, now, now); err != nil {
		return "", err
	}
	return folder, removeOld(all, now.Add(-kept))
}

func removeOld(folder string, before time.Time) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if about, err := e.Info(); err == nil && about.ModTime().Before(before) {
			_ = os.RemoveAll(filepath.Join(folder, e.Name())) // another process may do so, too
		}
	}
	return nil
}

func findCompiler() (string, error) {
	for _, name := range []string{"c++", "g++", "clang++", "clang++-19"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoCompiler
}

func writeSources(folder, text string) error {
	err := source.Each(func(name string, text []byte) error {
		return os.WriteFile(filepath.Join(folder, name), text, 0o600)
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "build.cpp"), []byte(text), 0o600)
}
