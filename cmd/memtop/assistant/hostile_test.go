package assistant

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// TestMain is memtop too, one that prints the files that it is given: what an
// assistant could read is what comes out.
func TestMain(m *testing.M) {
	if os.Getenv("ASSISTANT_PRINTS") == "" {
		os.Exit(m.Run())
	}
	for _, arg := range os.Args[2:] {
		text, err := os.ReadFile(arg)
		if err == nil {
			_, _ = os.Stdout.Write(text)
		}
	}
	fmt.Println(len(os.Args), "words")
}

const secret = "what nobody may read"

// scene makes a folder with a file, beside a secret that links lead to.
func scene(t *testing.T) (folder string) {
	t.Helper()
	t.Setenv("ASSISTANT_PRINTS", "1")
	outside := t.TempDir()
	folder = filepath.Join(outside, "folder")
	for _, err := range []error{
		os.Mkdir(folder, 0o700),
		os.WriteFile(filepath.Join(outside, "secret.pickle"), []byte(secret), 0o600),
		os.WriteFile(filepath.Join(folder, "good.pickle"), []byte("good"), 0o600),
		os.Symlink("../secret.pickle", filepath.Join(folder, "out.pickle")),
		os.Symlink("..", filepath.Join(folder, "up")),
		os.Symlink("good.pickle", filepath.Join(folder, "in.pickle")),
	} {
		if err != nil {
			t.Skip(err)
		}
	}
	return folder
}

// session connects a client to a server of a folder.
func session(t *testing.T, o Options) *mcp.ClientSession {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(t.Context(), fromClient, toClient, o) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	s, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	fatal.If(t, err)
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-ended; err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return s
}

// said calls a tool and returns its text, and whether it is an answer.
func said(ctx context.Context, s *mcp.ClientSession, name string, arguments any) (string, bool) {
	result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return err.Error(), false
	}
	var text strings.Builder
	for _, content := range result.Content {
		text.WriteString(content.(*mcp.TextContent).Text)
	}
	return text.String(), !result.IsError
}

func TestOnlyFilesOfTheFolderAreRead(t *testing.T) {
	folder := scene(t)
	s := session(t, Options{Folder: folder})
	for name, want := range map[string]bool{
		"good.pickle": true, "./good.pickle": true, "in.pickle": true, filepath.Join(folder, "good.pickle"): true,
		"out.pickle": false, "up/secret.pickle": false, "../secret.pickle": false, filepath.Join(folder, "..", "secret.pickle"): false,
		"": false, ".": false, "up": false, "/etc/passwd": false, "good.pickle\x00": false, "--by=line": false, "-": false,
	} {
		if text, ok := said(t.Context(), s, "report", map[string]any{"file": name}); ok != want || strings.Contains(text, secret) {
			t.Errorf("%q is answered: %v, by %q", name, ok, text)
		}
	}
	if text, _ := said(t.Context(), s, "files", nil); !strings.HasPrefix(text, "good.pickle, 4 bytes, ") || strings.Count(text, "\n") != 1 {
		t.Errorf("the files are %q", text)
	}
	if text, ok := said(t.Context(), s, "rehearse", map[string]any{"command": []string{"true"}, "gpu": "t4"}); ok {
		t.Errorf("a command was run: %q", text)
	}
}

// TestAFileThatBecomesALinkIsNotFollowed exchanges a file between the check of its
// name and the command that reads it.
func TestAFileThatBecomesALinkIsNotFollowed(t *testing.T) {
	folder := scene(t)
	root, err := os.OpenRoot(folder)
	fatal.If(t, err)
	defer root.Close()
	memtop, err := os.Executable()
	fatal.If(t, err)
	good, link := filepath.Join(folder, "good.pickle"), filepath.Join(folder, "out.pickle")
	synctest.Test(t, func(t *testing.T) {
		s := &server{folder: root, memtop: memtop, turns: make(chan struct{}, 1)}
		s.turns <- struct{}{} // so that the question waits when its file is checked
		var text string
		done := make(chan error)
		go func() {
			result, _, err := s.about(t.Context(), []string{"good.pickle"}, "report")
			if err == nil {
				text = result.Content[0].(*mcp.TextContent).Text
			}
			done <- err
		}()
		synctest.Wait()
		fatal.If(t, os.Rename(link, good))
		<-s.turns
		if err := <-done; err != nil || !strings.HasPrefix(text, "good") {
			t.Errorf("error %v, and it read %q", err, text)
		}
	})
}

// TestHostileRequests sends what no assistant should, made of pieces that lead out of
// the folder, are taken for flags, or are of another type.
func TestHostileRequests(t *testing.T) {
	s := session(t, Options{Folder: scene(t)})
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"..", "/", "up", "secret.pickle", "out.pickle", "%2e%2e", "\x00", "--", "-o", "\u202e", "C:", "~", "$HOME", "/proc/self/cwd", "\n", strings.Repeat("a", 5000)}
	word := func() string {
		var text strings.Builder
		for range 1 + random.IntN(5) {
			text.WriteString(pieces[random.IntN(len(pieces))])
			if random.IntN(2) == 0 {
				text.WriteByte('/')
			}
		}
		return text.String()
	}
	keys := []string{"file", "before", "after", "by", "at", "alloc_conf", "torch", "command", "gpu", "steps", "__proto__"}
	value := func() any {
		switch random.IntN(5) {
		case 0:
			return []any{word(), random.Int64(), nil}
		case 1:
			return map[string]any{word(): word()}
		}
		return word()
	}
	for range 10_000 {
		arguments := map[string]any{}
		for range random.IntN(4) {
			arguments[keys[random.IntN(len(keys))]] = value()
		}
		tool := []string{"files", "report", "lines", "advise", "diff", "replay", "rehearse", word()}[random.IntN(8)]
		text, ok := said(t.Context(), s, tool, arguments)
		if ok && tool != "files" || strings.Contains(text, secret) || len(text) > 2*mostAnswer {
			t.Fatalf("%s of %v is answered by %d bytes: %.200q", tool, arguments, len(text), text)
		}
	}
}

func TestALineWithoutAnEndEndsTheSession(t *testing.T) {
	in, write := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(t.Context(), in, discard{}, Options{Folder: t.TempDir()}) }()
	for {
		select {
		case err := <-ended:
			if err == nil {
				t.Error("the session ended as if all were well")
			}
			return
		default:
			_, _ = write.Write(make([]byte, 1<<16))
		}
	}
}

type discard struct{ io.Writer }

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

func TestAnAnswerIsBounded(t *testing.T) {
	folder := scene(t)
	fatal.If(t, os.WriteFile(filepath.Join(folder, "long.pickle"), make([]byte, 10*mostAnswer), 0o600))
	text, ok := said(t.Context(), session(t, Options{Folder: folder}), "report", map[string]any{"file": "long.pickle"})
	if !ok || !strings.Contains(text, "more bytes left out: ask for less]") || len(text) > 4*mostAnswer {
		t.Errorf("%v, %d bytes, which end in %q", ok, len(text), text[max(0, len(text)-80):])
	}
}
