package launcher

import (
	"strings"
	"testing"
)

func TestAPlaceIsTheLaunchers(t *testing.T) {
	tests := map[string]struct {
		set  map[string]string
		want Place
		many bool
		err  string
	}{
		"nothing is set": {},
		"set by hand":    {set: map[string]string{"RANK": "0", "WORLD_SIZE": "2"}, want: Place{"torchrun", 0, 2, 0, ""}, many: true},
		"an older mpirun": {
			set:  map[string]string{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_MCA_ess_base_jobid": "9", "RANK": "7", "WORLD_SIZE": "8"},
			want: Place{"mpirun", 1, 2, 1, "9"}, many: true,
		},
		"mpirun": {
			set:  map[string]string{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "PMIX_NAMESPACE": "172"},
			want: Place{"mpirun", 1, 2, 1, "172"}, many: true,
		},
		"torchrun": {
			set:  map[string]string{"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "a", "MASTER_PORT": "29500"},
			want: Place{"torchrun", 3, 8, 1, "a.29500"}, many: true,
		},
		"torchrun with a name": {
			set:  map[string]string{"RANK": "0", "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "night", "MASTER_ADDR": "a", "MASTER_PORT": "29500"},
			want: Place{"torchrun", 0, 2, 0, "night"}, many: true,
		},
		"Slurm": {
			set:  map[string]string{"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_LOCALID": "1", "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0"},
			want: Place{"srun", 1, 2, 1, "77.0"}, many: true,
		},
		"a launcher of MPICH's under Slurm": {
			set:  map[string]string{"PMI_RANK": "1", "PMI_SIZE": "2", "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "1"},
			want: Place{"mpiexec", 1, 2, 0, "77.1"}, many: true,
		},
		"one process of Slurm is no group": {
			set:  map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_LOCALID": "0"},
			want: Place{"srun", 0, 1, 0, ""},
		},
		"a rank that is no number":   {set: map[string]string{"RANK": "x", "WORLD_SIZE": "2"}, err: "RANK=x: want a number"},
		"a rank beyond the last one": {set: map[string]string{"PMI_RANK": "2", "PMI_SIZE": "2"}, err: "PMI_RANK=2 and PMI_SIZE=2"},
		"mpirun inside a Slurm's job": {
			set:  map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"},
			want: Place{"mpirun", 1, 2, 0, ""}, many: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, many, err := Launched(func(name string) string { return test.set[name] })
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("error %v, want %s", err, test.err)
				}
				return
			}
			if err != nil || got != test.want || many != test.many {
				t.Errorf("got %+v, %v, %v; want %+v, %v", got, many, err, test.want, test.many)
			}
		})
	}
}
