package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRehearsedLibraries runs programs that use libraries of PyTorch, for each that is there: those of the interpreter,
// and with make rehearse-packages those of a folder.
func TestRehearsedLibraries(t *testing.T) {
	python := cudaPython(t)
	torchrun := []string{"-m", "torch.distributed.run", "--nproc-per-node", "2"}
	for name, p := range map[string]struct {
		script, needs string // packages, by spaces
		flags         []string
		launcher      []string // words between the interpreter and the script
		words         []string // of the script
		bound         []string // any of these
	}{
		"accelerate":           {script: "accelerated", needs: "accelerate", bound: []string{"exact"}},
		"bitsandbytes":         {script: "qlora", needs: "bitsandbytes peft transformers", bound: []string{"exact", "branches"}},
		"deepspeed zero 2":     {script: "zero", needs: "deepspeed", flags: []string{"--gpus", "2"}, launcher: torchrun, words: []string{"--stage", "2"}},
		"deepspeed zero 3":     {script: "zero", needs: "deepspeed", flags: []string{"--gpus", "2"}, launcher: torchrun, words: []string{"--stage", "3"}},
		"a rank of zero 3":     {script: "zero", needs: "deepspeed", flags: []string{"--world", "64", "--rank", "63"}, words: []string{"--stage", "3"}},
		"agents by dqn":        {script: "agent", needs: "stable_baselines3", words: []string{"dqn"}},
		"agents by ppo":        {script: "agent", needs: "stable_baselines3", words: []string{"ppo"}},
		"diffusers' ddpm":      {script: "ddpm", needs: "diffusers"},
		"fabric and metrics":   {script: "fabric", needs: "lightning torchmetrics"},
		"faster r-cnn":         {script: "detectors", needs: "torchvision", words: []string{"fasterrcnn_resnet50_fpn"}, bound: []string{"lower"}},
		"graphs":               {script: "graph_network", needs: "torch_geometric"},
		"mask r-cnn":           {script: "detectors", needs: "torchvision", words: []string{"maskrcnn_resnet50_fpn"}, bound: []string{"lower"}},
		"qwen's experts":       {script: "qwen_moe", needs: "transformers accelerate", bound: []string{"exact", "branches"}},
		"retinanet":            {script: "detectors", needs: "torchvision", words: []string{"retinanet_resnet50_fpn"}, bound: []string{"lower"}},
		"sentences":            {script: "sentences", needs: "sentence_transformers datasets"},
		"seq2seq":              {script: "seq2seq", needs: "transformers accelerate", bound: []string{"exact", "branches"}},
		"ssd":                  {script: "detectors", needs: "torchvision", words: []string{"ssd300_vgg16"}, bound: []string{"lower"}},
		"torchaudio":           {script: "recognizer", needs: "torchaudio", bound: []string{"modelled"}},
		"ultralytics trains":   {script: "squares", needs: "ultralytics torchvision", words: []string{"detect", "train", "epochs=2"}, bound: []string{"lower"}},
		"ultralytics' val":     {script: "squares", needs: "ultralytics torchvision", words: []string{"detect", "val"}, bound: []string{"lower"}},
		"vit":                  {script: "pictures", needs: "transformers accelerate"},
		"whisper":              {script: "speech", needs: "transformers"},
		"detection":            {script: "detection", needs: "torchvision", flags: []string{"--values", "upper"}, bound: []string{"upper"}},
		"diffusers":            {script: "unet", needs: "diffusers", bound: []string{"modelled"}},
		"generate":             {script: "generate", needs: "transformers"},
		"lightning":            {script: "lightning_fit", needs: "lightning"},
		"mixture of experts":   {script: "moe", needs: "transformers", bound: []string{"exact", "branches", "lower"}},
		"peft":                 {script: "lora", needs: "peft transformers", bound: []string{"exact", "branches"}},
		"timm":                 {script: "images", needs: "timm", bound: []string{"modelled"}},
		"timm's transformer":   {script: "images", needs: "timm", words: []string{"vit_base_patch16_224"}, bound: []string{"modelled"}},
		"transformers":         {script: "trainer", needs: "transformers accelerate"},
		"transformers and trl": {script: "sft", needs: "trl datasets tokenizers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HF_HUB_OFFLINE", "1")
			t.Setenv("YOLO_CONFIG_DIR", t.TempDir())
			need(t, python, strings.Fields(p.needs))
			path := filepath.Join("../../engine/device/cuda/imitation/testdata/programs", p.script+".py")
			words := append(append(append(append(p.flags, "--", python), p.launcher...), path), p.words...)
			r := rehearseWith(t, words...)
			if r.code != 0 || !r.Fits || len(r.Ranks) == 0 || len(r.NotImitated) > 0 {
				t.Errorf("code %d, %d ranks, not imitated: %v, %s", r.code, len(r.Ranks), r.NotImitated, r.stderr)
			}
			if most := r.Most(); most != nil {
				t.Logf("%d and %d bytes allocated and reserved, %.1f s, %d ranks, %s, %v", most.PeakAllocated, most.PeakReserved, r.Seconds, len(r.Ranks), r.Bound, r.Because)
			}
			if len(p.bound) > 0 && !strings.Contains(" "+strings.Join(p.bound, " ")+" ", " "+r.Bound+" ") {
				t.Errorf("its sizes are %q, not of %v: %v", r.Bound, p.bound, r.DependsOnData)
			}
		})
	}
}

// need skips a test where a package is not there.
func need(t *testing.T, python string, packages []string) {
	t.Helper()
	for _, name := range packages {
		if exec.CommandContext(t.Context(), python, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)", name).Run() != nil { //nolint:gosec // the names are above
			t.Skipf("%s has no %s", python, name)
		}
	}
}
