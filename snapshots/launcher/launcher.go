// Package launcher says where a launcher, such as torchrun or srun, has put a process
// among those that it has started.
package launcher

import (
	"fmt"
	"strconv"
	"strings"
)

// Place is where a launcher has put a process.
type Place struct {
	Launcher    string // such as "mpirun"
	Rank, World int
	Local       int // the number among those of this host, for choosing a device
	// Job is the same text in all processes of a job, on all hosts, and another one in
	// every other job; "" where the launcher gives none.
	Job string
}

// Torchrun is the launcher that brings a store to meet by, and no MPI.
const Torchrun = "torchrun"

// launchers are the variables of each launcher, the one first that others set too. The
// variables of a job are joined, those of the first group that is set.
var launchers = []struct {
	name, rank, world, local string
	job                      [][]string
}{
	{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", [][]string{{"PMIX_NAMESPACE"}, {"OMPI_MCA_ess_base_jobid"}}},
	{"mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", [][]string{{"PMI_JOBID"}, slurmStep}},
	{Torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", [][]string{{"TORCHELASTIC_RUN_ID"}, {"MASTER_ADDR", "MASTER_PORT"}}},
	{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", [][]string{slurmStep}},
}

var slurmStep = []string{"SLURM_JOB_ID", "SLURM_STEP_ID"}

// unnamedRun is what torchrun calls a run that was given no name.
const unnamedRun = "none"

// jobOf returns the name that a launcher has given a job, "" for none.
func jobOf(getenv func(string) string, variables [][]string) string {
	for _, group := range variables {
		var values []string
		for _, name := range group {
			if v := getenv(name); v != "" && v != unnamedRun {
				values = append(values, v)
			}
		}
		if len(values) == len(group) {
			return strings.Join(values, ".")
		}
	}
	return ""
}

// Launched returns the place that the environment gives a process, and false
// when no launcher has started more than one. Variables that contradict themselves
// are an error.
func Launched(getenv func(string) string) (Place, bool, error) {
	for _, l := range launchers {
		if getenv(l.rank) == "" || getenv(l.world) == "" {
			continue
		}
		p := Place{Launcher: l.name, Job: jobOf(getenv, l.job)}
		for at, name := range map[*int]string{&p.Rank: l.rank, &p.World: l.world, &p.Local: l.local} {
			v := getenv(name)
			n, err := strconv.Atoi(v)
			if v == "" && name == l.local {
				continue
			}
			if err != nil || n < 0 {
				return Place{}, false, fmt.Errorf("%s=%s: want a number", name, v)
			}
			*at = n
		}
		if p.Rank >= p.World {
			return Place{}, false, fmt.Errorf("%s=%d and %s=%d: ranks are below the number of processes", l.rank, p.Rank, l.world, p.World)
		}
		return p, p.World > 1, nil
	}
	return Place{}, false, nil
}
