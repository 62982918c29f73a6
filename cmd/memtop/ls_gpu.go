package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/gauge"
	"github.com/memtop/memtop/snapshots/procfs"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// listedCard is a device of the machine, or an instance of a divided one, with all processes on it. Sizes are bytes.
type listedCard struct {
	Name      string        `json:"name"`
	UUID      string        `json:"uuid"`
	Bus       string        `json:"bus"`
	Total     int64         `json:"total_bytes"`
	Used      int64         `json:"used_bytes"`
	Processes []userOfACard `json:"processes"`
	Unnamed   int64         `json:"unnamed_bytes"` // used, and of no process that the driver names; 0 if that is not known
	Holders   []userOfACard `json:"holders"`       // processes with a device file open that the driver names on no device
	Problem   string        `json:"problem"`       // why its processes are unknown, "" if they are known
}

// userOfACard is a process on a device.
type userOfACard struct {
	PID     int    `json:"pid"`
	User    string `json:"user"`
	Bytes   *int64 `json:"bytes"`       // null if the driver does not account for them
	Age     int64  `json:"age_seconds"` // since it began, 0 if it is not there
	Command string `json:"command"`
	Missing string `json:"missing"` // why nothing is known but its bytes, "" if it is there
}

// worthNaming is how much memory of no process gets a row: the driver keeps some hundred MiB for itself.
const worthNaming = 1 << 30

// lsCards prints all devices, and the processes on each, whether they have a probe or not.
func (l *lister) lsCards() error {
	reader, err := gauge.Open()
	if err != nil {
		return command.Failure{Code: command.ExitError, Cause: err.Error(), Remedy: "run it on the machine with the GPU"}
	}
	defer reader.Close() //nolint:errcheck // the answer is there
	cards, err := reader.Cards()
	if err != nil {
		return err
	}
	rows := listCards(cards, lookUp, holdersOf(cards))
	if l.settings.json {
		return l.printJSON(rows)
	}
	var text strings.Builder
	if err := writeCards(&text, rows); err != nil {
		return err
	}
	return l.writeLines(text.String())
}

// listCards joins devices with what a function knows of their processes, and with those that hold devices unnamed.
func listCards(cards []gauge.Card, about func(pid int) userOfACard, holders []userOfACard) []listedCard {
	rows := make([]listedCard, 0, len(cards))
	for _, c := range cards {
		row := listedCard{Name: c.Name, UUID: c.UUID, Bus: c.Bus, Total: c.Total, Used: c.Used, Problem: c.Problem, Processes: []userOfACard{}, Holders: []userOfACard{}}
		named, known := int64(0), c.Problem == "" && !c.Unified
		for _, u := range c.Users {
			process := about(u.PID)
			if known = known && u.Bytes >= 0; u.Bytes >= 0 {
				process.Bytes, named = &u.Bytes, named+u.Bytes
			}
			row.Processes = append(row.Processes, process)
		}
		if left := c.Used - named; known && left >= worthNaming {
			row.Unnamed = left
		}
		if row.hasLost() {
			row.Holders = append(row.Holders, holders...)
		}
		rows = append(rows, row)
	}
	return rows
}

// hasLost reports whether memory is taken that no running process is known to have.
func (c *listedCard) hasLost() bool {
	return c.Unnamed > 0 || slices.ContainsFunc(c.Processes, func(p userOfACard) bool { return p.Missing == isGone })
}

const isGone = "gone, and its memory is still taken"

// initialNamespace is that of all processes of a machine, which the driver numbers (PROC_PID_INIT_INO of Linux).
const initialNamespace = "pid:[4026531836]"

// lookUp returns what is known of a process by its number.
func lookUp(pid int) userOfACard {
	u := userOfACard{PID: pid}
	age, err := procfs.Age(pid)
	if err != nil {
		u.Missing = isGone
		if own, _ := os.Readlink("/proc/self/ns/pid"); own != initialNamespace {
			u.Missing = "not in this container"
		}
		return u
	}
	status, _ := procfs.Status(procfs.Of(pid, "status")) // nothing if it has just ended
	u.User, u.Age = attach.UserName(procfs.Number(status["Uid"], 0, 0)), int64(age/time.Second)
	u.Command = trace.Printable(procfs.Command(pid))
	return u
}

// holdersOf returns the processes with a file of a device open that the driver names on none, as far as this user may
// see that: a context that has not ended keeps its memory as long as one of them has it.
func holdersOf(cards []gauge.Card) (holders []userOfACard) {
	pids, _ := procfs.Processes() // none where there is no /proc
	for _, pid := range pids {
		named := slices.ContainsFunc(cards, func(c gauge.Card) bool {
			return slices.ContainsFunc(c.Users, func(u gauge.User) bool { return u.PID == pid })
		})
		if !named && hasDeviceOpen(pid) {
			holders = append(holders, lookUp(pid))
		}
	}
	return holders
}

func hasDeviceOpen(pid int) bool {
	folder := procfs.Of(pid, "fd")
	entries, _ := os.ReadDir(folder)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		to, _ := os.Readlink(folder + "/" + e.Name())
		number, is := strings.CutPrefix(to, "/dev/nvidia")
		return is && number != "" && strings.Trim(number, "0123456789") == ""
	})
}

func writeCards(out io.Writer, rows []listedCard) error {
	if len(rows) == 0 {
		fmt.Fprintln(out, "the driver has no devices")
	}
	for i, c := range rows {
		if i > 0 {
			fmt.Fprintln(out)
		}
		taken := fmt.Sprintf("%s of %s taken", quantity.Bytes(c.Used), quantity.Bytes(c.Total))
		if c.Total == 0 {
			taken = "memory not known"
		}
		fmt.Fprintf(out, "GPU %d  %s  %s  %s\n", i, c.Name, taken, c.UUID)
		if c.Problem != "" {
			fmt.Fprintln(out, "  its processes are not known: "+c.Problem)
			continue
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, p := range c.Processes {
			p.write(w, "")
		}
		if c.Unnamed > 0 {
			fmt.Fprintf(w, "  -\t%s\t-\t-\tof no process that the driver names\n", quantity.Bytes(c.Unnamed))
		}
		for _, p := range c.Holders {
			p.write(w, "has a device open, and may be what keeps it: ")
		}
		if err := w.Flush(); err != nil {
			return err
		}
		if c.hasLost() && len(c.Holders) == 0 {
			fmt.Fprintln(out, "  no process that this user can see keeps it: ask as root, or reset the GPU: nvidia-smi --gpu-reset -i "+c.UUID)
		}
	}
	return nil
}

func (u *userOfACard) write(w io.Writer, why string) {
	user, age, what := u.User, (time.Duration(u.Age) * time.Second).String(), why+brief(u.Command)
	if u.Missing != "" {
		user, age, what = "-", "-", u.Missing
	}
	fmt.Fprintf(w, "  %d\t%s\t%s\t%s\t%s\n", u.PID, orDash(u.Bytes), user, age, what)
}
