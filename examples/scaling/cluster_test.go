package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The Slurm job is a script that bash accepts; its directives are valid and in the right place, and their numbers of
// ranks can train.
func TestSbatch(t *testing.T) {
	script, err := os.ReadFile("train.sbatch")
	if err != nil {
		t.Fatal(err)
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		if out, err := exec.Command(bash, "-n", "train.sbatch").CombinedOutput(); err != nil {
			t.Errorf("bash -n: %v: %s", err, out)
		}
	}
	options := map[string]string{ // by sbatch(1)
		"job-name": `\S+`, "nodes": `\d+`, "ntasks-per-node": `\d+`, "cpus-per-task": `\d+`,
		"time":   `(\d+-)?\d\d:\d\d:\d\d`,
		"signal": `([BR]{1,2}:)?[A-Z]+@\d+`, "requeue": "", "open-mode": "append|truncate",
	}
	got := map[string]string{}
	code := false
	for line := range strings.Lines(string(script)) {
		line = strings.TrimSuffix(line, "\n")
		directive, ok := strings.CutPrefix(line, "#SBATCH --")
		if !ok {
			code = code || !strings.HasPrefix(line, "#")
			continue
		}
		name, value, _ := strings.Cut(directive, "=")
		pattern, known := options[name]
		if _, twice := got[name]; code || twice || !known || !regexp.MustCompile("^("+pattern+")$").MatchString(value) {
			t.Errorf("%s: behind a command, given twice, unknown, or not of the form %s", line, pattern)
		}
		got[name] = value
	}
	if got["nodes"] != "4" || got["ntasks-per-node"] != "1" ||
		!strings.Contains(string(script), "-gradient_accumulation_steps 16") {
		t.Errorf("got %v: want a power of two of ranks that divides the micro-batches", got)
	}
}

// container, replica and mpiJob are the parts of kubeflow.org/v2beta1 and of Kubernetes that mpijob.json uses.
type container struct {
	Name, Image   string
	Command, Args []string
	Resources     struct{ Limits map[string]string }
	VolumeMounts  []struct{ Name, MountPath string }
}

type replica struct {
	Replicas int
	Template struct {
		Spec struct {
			Containers []container
			Volumes    []struct {
				Name                  string
				PersistentVolumeClaim struct{ ClaimName string }
			}
		}
	}
}

type mpiJob struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		SlotsPerWorker    int
		MPIImplementation string
		RunPolicy         struct {
			CleanPodPolicy string
			BackoffLimit   int
		}
		MPIReplicaSpecs struct{ Launcher, Worker replica }
	}
}

// The Kubeflow job has only keys that its operator accepts, as many workers as ranks, and one directory for all.
func TestMPIJob(t *testing.T) {
	data, err := os.ReadFile("mpijob.json")
	if err != nil {
		t.Fatal(err)
	}
	var j mpiJob
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&j); err != nil {
		t.Fatal(err)
	}
	launcher, worker := j.Spec.MPIReplicaSpecs.Launcher, j.Spec.MPIReplicaSpecs.Worker
	if j.APIVersion != "kubeflow.org/v2beta1" || j.Kind != "MPIJob" || j.Metadata.Name == "" ||
		j.Spec.MPIImplementation != "OpenMPI" ||
		launcher.Replicas != 1 || worker.Replicas*j.Spec.SlotsPerWorker != 4 {
		t.Errorf("got %+v", j)
	}
	for _, r := range []replica{launcher, worker} {
		c, v := r.Template.Spec.Containers, r.Template.Spec.Volumes
		if len(c) != 1 || len(v) != 1 || c[0].Name == "" || c[0].Image == "" || len(c[0].VolumeMounts) != 1 ||
			c[0].VolumeMounts[0].Name != v[0].Name ||
			v[0].PersistentVolumeClaim.ClaimName == "" {
			t.Errorf("got %+v", r)
		}
	}
	c := launcher.Template.Spec.Containers[0]
	if !strings.Contains(strings.Join(c.Args, " "), "mpirun -np 4 ") {
		t.Errorf("got %q", c.Args)
	}
}
