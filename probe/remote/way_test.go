package remote

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"

	"github.com/google/go-cmp/cmp"
)

func TestANameThatIsNoHost(t *testing.T) {
	for name, ok := range map[string]bool{
		"gpu7": true, "me@gpu7": true, "ssh://me@gpu7:2222": true, "::1": true, "gpu-7.example": true, "größe": true,
		"": false, "-oProxyCommand=id": false, "me@-oProxyCommand=id": false, "gpu7\n": false, "gpu 7": false, "me@": false, "\x1b[2J": false, "a\u009bb": false,
	} {
		if _, err := SSH(name, ""); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestTheCommandThatGoesThere(t *testing.T) {
	t.Setenv("MEMTOP_SSH", "")
	way, err := SSH("me@gpu7", "~/my bin/memtop")
	must(t, err)
	want := []string{"-oBatchMode=yes", "-T", "-a", "-x", "-oClearAllForwardings=yes", "-oControlMaster=no", "--", "me@gpu7", "~/'my bin/memtop' bridge"}
	if diff := cmp.Diff(want, way.arguments(false)); diff != "" || way.program != "ssh" {
		t.Errorf("%s (-want +got):\n%s", way.program, diff)
	}
	equal.Values(t, "where the user may be asked", want[1:], way.arguments(true))
}

func TestAPathIsOneWordOfAShell(t *testing.T) {
	for path, want := range map[string]string{
		"memtop": "memtop", "/opt/memtop-1.0/bin/memtop": "/opt/memtop-1.0/bin/memtop", "~/bin/memtop": "~/bin/memtop",
		"a b": "'a b'", "~/a b": "~/'a b'", "it's": `'it'\''s'`, "$(id)": "'$(id)'", "~root/x": "'~root/x'", "": "''",
	} {
		if got := quoted(path); got != want {
			t.Errorf("%q is %s, want %s", path, got, want)
		}
	}
}

func TestAHostIsOneWordOfARemedy(t *testing.T) {
	for host, want := range map[string]string{
		"gpu7": "ssh gpu7 memtop version", "ssh://me@gpu7:2222": "ssh ssh://me@gpu7:2222 memtop version",
		"a;id": "ssh 'a;id' memtop version", "$(id)": "ssh '$(id)' memtop version", "~/x": "ssh '~/x' memtop version",
	} {
		way, err := SSH(host, "")
		must(t, err)
		if got := way.failure("it does not answer", "").Remedy; got != "try: "+want {
			t.Errorf("%q has the remedy %s", host, got)
		}
	}
	if way := srun("12", "a;id", "my memtop"); way.test != "srun --overlap --jobid=12 --nodelist='a;id' 'my memtop' version" {
		t.Errorf("the remedy of a step is %s", way.test)
	}
}

// FuzzGreeting reads what a machine sends before its bridge is known.
func FuzzGreeting(f *testing.F) {
	f.Add([]byte("Welcome\n" + greets + "1\nPRI"))
	f.Add([]byte(greets + "12\r\n"))
	f.Add([]byte(strings.Repeat("x", maxNoise)))
	f.Fuzz(func(t *testing.T, sent []byte) {
		version, err := awaitGreeting(bufio.NewReader(strings.NewReader(string(sent))))
		if err == nil && !strings.Contains(string(sent), greets) {
			t.Errorf("version %d of nothing", version)
		}
	})
}

// FuzzRow reads what a bridge sends of a process.
func FuzzRow(f *testing.F) {
	f.Add([]byte(`{"pid": 7, "user": "\u001b[2J", "info": {"version": 1, "devices": [{"device": 0}]}}`))
	f.Add([]byte(`{"problem": {"silent": {"Who": "\u009b", "Stopped": 3}}}`))
	f.Add([]byte(`{"problem": {"version": {"Theirs": 2, "Ours": 1}}}`))
	f.Fuzz(func(t *testing.T, sent []byte) {
		var r row
		if json.Unmarshal(sent, &r) != nil {
			return
		}
		p := r.from("gpu7")
		if p.Info == nil && p.Problem == nil {
			return // where a process is located, its Info is not said
		}
		wantsPrintable(t, p)
	})
}
