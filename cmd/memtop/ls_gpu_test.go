package main

import (
	"os"
	"strings"
	"testing"

	"github.com/memtop/memtop/probe/gauge"
)

func TestTheProcessesOfEachCardAreListed(t *testing.T) {
	const gib = 1 << 30
	about := func(pid int) userOfACard {
		if pid == 9 {
			return userOfACard{PID: pid, Missing: isGone}
		}
		return userOfACard{PID: pid, User: "ada", Age: 3725, Command: "/usr/bin/python train.py"}
	}
	keeper := userOfACard{PID: 12, User: "bob", Age: 60, Command: "python worker.py"}
	for name, test := range map[string]struct {
		card    gauge.Card
		holders []userOfACard
		has     []string
		absent  string
	}{
		"a process": {
			gauge.Card{Total: 80 * gib, Used: 50 * gib, Users: []gauge.User{{PID: 7, Bytes: 50 * gib}}},
			[]userOfACard{keeper},
			[]string{"GPU 0  H100  50.0 GiB of 80.0 GiB taken  GPU-1\n", "  7  50.0 GiB  ada  1h2m5s  python train.py\n"},
			"worker",
		},
		"one that is gone, and who keeps it": {
			gauge.Card{Total: 80 * gib, Used: 21 * gib, Users: []gauge.User{{PID: 9, Bytes: 21 * gib}}},
			[]userOfACard{keeper},
			[]string{"  9   21.0 GiB  -    -     gone, and its memory is still taken\n", "  12  -         bob  1m0s  has a device open, and may be what keeps it: python worker.py\n"},
			"reset",
		},
		"one that is gone, and nobody keeps it": {
			gauge.Card{Total: 80 * gib, Used: 21 * gib, Users: []gauge.User{{PID: 9, Bytes: 21 * gib}}},
			nil,
			[]string{"nvidia-smi --gpu-reset -i GPU-1\n"},
			"may be",
		},
		"memory of nobody": {
			gauge.Card{Total: 80 * gib, Used: 30 * gib, Users: []gauge.User{{PID: 7, Bytes: 28 * gib}}},
			nil,
			[]string{"  -  2.0 GiB   -    -       of no process that the driver names\n", "reset"},
			"",
		},
		"what the driver keeps for itself": {gauge.Card{Total: 80 * gib, Used: 28*gib + gib/2, Users: []gauge.User{{PID: 7, Bytes: 28 * gib}}}, nil, nil, "of no process"},
		"bytes that nobody counts":         {gauge.Card{Total: 80 * gib, Used: 28 * gib, Users: []gauge.User{{PID: 7, Bytes: -1}}}, nil, []string{"  7  -  ada"}, "of no process"},
		"memory of the machine":            {gauge.Card{Total: 80 * gib, Used: 28 * gib, Unified: true}, nil, nil, "of no process"},
		"no right to see them":             {gauge.Card{Total: 80 * gib, Used: 28 * gib, Problem: "Insufficient Permissions"}, nil, []string{"  its processes are not known: Insufficient Permissions\n"}, "of no process"},
		"a divided one":                    {gauge.Card{Problem: "MIG"}, nil, []string{"GPU 0  H100  memory not known  GPU-1\n"}, "taken"},
	} {
		t.Run(name, func(t *testing.T) {
			test.card.Name, test.card.UUID = "H100", "GPU-1"
			var text strings.Builder
			if err := writeCards(&text, listCards([]gauge.Card{test.card}, about, test.holders)); err != nil {
				t.Fatal(err)
			}
			for _, has := range test.has {
				if !strings.Contains(text.String(), has) {
					t.Errorf("without %q:\n%s", has, text.String())
				}
			}
			if test.absent != "" && strings.Contains(text.String(), test.absent) {
				t.Errorf("with %q:\n%s", test.absent, text.String())
			}
		})
	}
}

func TestAProcessIsLookedUp(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc")
	}
	if own := lookUp(os.Getpid()); own.Missing != "" || own.Command == "" || own.User == "" {
		t.Errorf("%+v", own)
	}
	if none := lookUp(1 << 30); none.Missing == "" {
		t.Errorf("%+v", none)
	}
}
