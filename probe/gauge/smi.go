package gauge

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// # Without cgo
//
// A static program cannot load the driver's library. The driver comes with a
// program that can, nvidia-smi, so a static memtop runs that instead. It prints
// the library's numbers, memory in whole MiB. It does not list the instances of a
// divided card.

// smi reads cards with nvidia-smi.
type smi struct{ path string }

// smiLimit is how long nvidia-smi may take. If no other program uses the driver,
// the driver must start first.
const smiLimit = 10 * time.Second

// smiPlaces are the paths of nvidia-smi if PATH does not have it.
var smiPlaces = []string{"/usr/bin/nvidia-smi", "/usr/local/nvidia/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi"}

// openSMI finds nvidia-smi and runs it once.
func openSMI() (library, error) {
	for _, name := range append([]string{"nvidia-smi"}, smiPlaces...) {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		_, err = smi{path}.ask("gpu", "uuid")
		return smi{path}, err
	}
	return nil, errors.New("there is no nvidia-smi here, which comes with NVIDIA's driver; a container has it with NVIDIA_DRIVER_CAPABILITIES=utility")
}

func (smi) close() error { return nil }

// The columns that are asked for.
const (
	cardColumns = "uuid,name,pci.bus_id,mig.mode.current,memory.total,memory.free,utilization.gpu,temperature.gpu,power.draw"
	userColumns = "gpu_uuid,pid,used_gpu_memory"
)

// cards asks for the cards and, at the same time, for the processes on them.
func (s smi) cards() ([]card, error) {
	var users [][]string
	var failed error
	asked := make(chan struct{}) // closed when users are there
	go func() {
		defer close(asked)
		users, failed = s.ask("compute-apps", userColumns)
	}()
	rows, err := s.ask("gpu", cardColumns)
	<-asked
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	var cards []card
	for _, row := range rows {
		c := cardOf(row)
		for _, u := range users {
			if u[0] == c.uuid {
				c.users = append(c.users, userOf(u))
			}
		}
		cards = append(cards, c)
	}
	return cards, nil
}

// cardOf reads a row of cardColumns.
func cardOf(row []string) card {
	c := card{
		uuid: row[0], name: row[1], bus: row[2], utilisation: number(row[6], 1),
		temperature: number(row[7], 1), powerMilliwatt: number(row[8], 1000),
	}
	if row[3] == "Enabled" {
		c.unread = "it is divided into instances (MIG), which only a memtop that was built with CGO_ENABLED=1 reads"
		return c
	}
	total, free := number(row[4], mebibyte), number(row[5], mebibyte)
	if total == unknown || free == unknown {
		said := fmt.Sprintf("nvidia-smi says of its memory: %s in all, %s free", row[4], row[5])
		if slices.Contains(unsupported, row[4]) {
			return c.unify(said)
		}
		c.unread = said
		return c
	}
	c.total, c.used = total, total-free
	return c
}

// unsupported are nvidia-smi's words for what a card does not have.
var unsupported = []string{"[N/A]", "[Not Supported]"}

const mebibyte = 1 << 20

// userOf reads a row of userColumns.
func userOf(row []string) user { return user{int(number(row[1], 1)), number(row[2], mebibyte)} }

// number returns a value in units, unknown if the driver prints words in place of
// a number.
func number(text string, unit float64) int64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return unknown
	}
	return int64(v * unit)
}

// ask returns the rows of a query, each with all of its columns.
func (s smi) ask(what, columns string) (rows [][]string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), smiLimit)
	defer cancel()
	p := exec.CommandContext(ctx, s.path, "--query-"+what+"="+columns, "--format=csv,noheader,nounits")
	p.WaitDelay = time.Second
	out, err := p.Output()
	said, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("nvidia-smi did not answer within %v", smiLimit)
	case err != nil:
		return nil, fmt.Errorf("nvidia-smi: %w: %s", err, said)
	}
	n := strings.Count(columns, ",") + 1
	for line := range strings.Lines(string(out)) {
		row := strings.Split(strings.TrimSpace(line), ", ")
		if len(row) != n {
			return nil, fmt.Errorf("nvidia-smi printed %q, want %d columns: %s", strings.TrimSpace(line), n, columns)
		}
		rows = append(rows, row)
	}
	return rows, nil
}
