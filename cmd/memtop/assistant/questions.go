package assistant

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memtop/memtop/snapshots"
)

// instructions tell an assistant how to use the questions.
const instructions = `Answers about GPU memory from PyTorch memory snapshots and memtop recordings.
Begin with files, then report. Bytes are exact; a category says how sure it is, and "not known" is an answer.
Quote savings as they stand: each is the drop of the peak that a replay without those blocks showed.`

// The arguments of the questions, as the assistant sees them.
type (
	none struct{}
	file struct {
		File string `json:"file" jsonschema:"path of the snapshot within the folder"`
	}
	lines struct {
		file
		By string `json:"by" jsonschema:"line, function, file or module"`
		At string `json:"at,omitempty" jsonschema:"peak, end or the number of an event; peak if left out"`
	}
	pair struct {
		Before string `json:"before" jsonschema:"path of the earlier snapshot"`
		After  string `json:"after" jsonschema:"path of the later snapshot"`
		At     string `json:"at,omitempty" jsonschema:"peak or end; the ends if left out"`
	}
	settings struct {
		file
		AllocConf []string `json:"alloc_conf,omitempty" jsonschema:"settings of PYTORCH_CUDA_ALLOC_CONF, such as expandable_segments:True"`
		Torch     []string `json:"torch,omitempty" jsonschema:"releases of PyTorch, such as 2.15"`
	}
	rehearsal struct {
		Command []string `json:"command" jsonschema:"the command that starts PyTorch, such as python, train.py"`
		GPU     string   `json:"gpu" jsonschema:"name of a GPU, such as h100-80gb or rtx4090"`
		Steps   int      `json:"steps,omitempty" jsonschema:"how many optimizer steps; until the peak stays if left out"`
	}
)

// addQuestions adds the questions that only read.
func (s *server) addQuestions(m *mcp.Server) {
	ask(m, "files", "Lists the files of the folder that may be snapshots.", s.files)
	ask(m, "report", "What is wrong, what held the memory at the peak and by category, and the request that failed.",
		func(ctx context.Context, in file) (*mcp.CallToolResult, any, error) {
			return s.about(ctx, []string{in.File}, "report")
		})
	ask(m, "lines", "How much memory each line, function, file or module of the program holds at a moment.",
		func(ctx context.Context, in lines) (*mcp.CallToolResult, any, error) {
			return s.about(ctx, []string{in.File}, "report", flag("by", in.By), flag("at", in.At))
		})
	ask(m, "advise", "What would make the memory less, best first, as far as the snapshot proves it.",
		func(ctx context.Context, in file) (*mcp.CallToolResult, any, error) {
			return s.about(ctx, []string{in.File}, "advise")
		})
	ask(m, "diff", "What grew, shrank, appeared or vanished between two snapshots, and the causes.",
		func(ctx context.Context, in pair) (*mcp.CallToolResult, any, error) {
			return s.about(ctx, []string{in.Before, in.After}, "diff", flag("at", in.At))
		})
	ask(m, "replay", "What the recorded requests would take under other allocator settings or releases of PyTorch.",
		func(ctx context.Context, in settings) (*mcp.CallToolResult, any, error) {
			args := []string{"replay", flag("torch", strings.Join(in.Torch, ","))}
			for _, setting := range in.AllocConf {
				args = append(args, flag("alloc-conf", setting))
			}
			return s.about(ctx, []string{in.File}, args...)
		})
}

// addRehearsal adds the question that runs a command of the assistant's choice.
func (s *server) addRehearsal(m *mcp.Server) {
	mcp.AddTool(m, &mcp.Tool{Name: "rehearse", Description: "Runs a command that starts PyTorch in the folder, over an imitated GPU: does it fit, its peak, and what holds it."},
		func(ctx context.Context, _ *mcp.CallToolRequest, in rehearsal) (*mcp.CallToolResult, any, error) {
			args := []string{"rehearse", "--no-advice", flag("gpu", in.GPU)}
			if in.Steps > 0 {
				args = append(args, flag("steps", strconv.Itoa(in.Steps)))
			}
			return s.answer(ctx, morePatience, nil, append(append(args, "--"), in.Command...)...)
		})
}

// ask adds a question that changes nothing.
func ask[In any](m *mcp.Server, name, about string, answer func(context.Context, In) (*mcp.CallToolResult, any, error)) {
	closed := false
	mcp.AddTool(m, &mcp.Tool{Name: name, Description: about, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed}},
		func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			return answer(ctx, in)
		})
}

// flag returns a flag with its value in one word, so that no value is taken for another
// flag, and nothing for an empty value.
func flag(name, value string) string {
	if value == "" {
		return ""
	}
	return "--" + name + "=" + value
}

// about answers a question about files, which come after the other arguments.
func (s *server) about(ctx context.Context, names []string, args ...string) (*mcp.CallToolResult, any, error) {
	var open []*os.File
	defer func() {
		for _, f := range open {
			_ = f.Close() // it was only read from
		}
	}()
	for _, name := range names {
		f, err := s.open(name)
		if err != nil {
			return nil, nil, err
		}
		open = append(open, f)
	}
	return s.answer(ctx, patience, open, args...)
}

// open opens a regular file of the folder. No link leads out of it, also if the name
// becomes one: the command reads what was opened here, and no name.
func (s *server) open(name string) (*os.File, error) {
	if filepath.IsAbs(name) {
		var err error
		if name, err = filepath.Rel(s.folder.Name(), name); err != nil {
			return nil, err
		}
	}
	f, err := s.folder.OpenFile(filepath.Clean(name), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would wait for a writer
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%q is no regular file", name), f.Close())
	}
	return f, nil
}

// Bounds of the list of files, and of the search for them.
const (
	mostFiles   = 200
	mostEntries = 50_000
)

// files lists what may be a snapshot, by its name.
func (s *server) files(context.Context, none) (*mcp.CallToolResult, any, error) {
	var text strings.Builder
	found, seen := 0, 0
	err := fs.WalkDir(s.folder.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if seen++; seen > mostEntries {
			return errEnough
		}
		if err != nil || !entry.Type().IsRegular() || !snapshots.IsSnapshotName(path) {
			return nil // a folder that cannot be read has nothing to offer
		}
		info, err := entry.Info()
		if err != nil {
			return nil // gone since
		}
		if found++; found > mostFiles {
			return errEnough
		}
		fmt.Fprintf(&text, "%s, %d bytes, %s\n", path, info.Size(), info.ModTime().UTC().Format("2006-01-02 15:04:05"))
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		text.WriteString("[the folder has more: ask about a file by its path]\n")
	case err != nil:
		return nil, nil, err
	case found == 0:
		text.WriteString("no file has the name of a snapshot\n")
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text.String()}}}, nil, nil
}

var errEnough = errors.New("enough")
