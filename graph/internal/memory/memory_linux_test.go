package memory

import (
	"testing"
	"testing/fstest"
)

// The memory that a process may use is the minimum over the machine, its control group and the enclosing groups, of
// either version.
func TestMachineMemory(t *testing.T) {
	const meminfo = "MemTotal:        2000 kB\nMemFree:         100 kB\n"
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing is said", nil, 0},
		{"the machine", map[string]string{"proc/meminfo": meminfo}, 2000 << 10},
		{
			"version 2",
			map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "5000\n",
			},
			5000,
		},
		{
			"version 2, no limit",
			map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n",
			},
			2000 << 10,
		},
		{
			"the group around",
			map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "6000\n",
				"sys/fs/cgroup/a/memory.max": "4000\n",
			},
			4000,
		},
		{
			"a container",
			map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "0::/host/path\n", "sys/fs/cgroup/memory.max": "7000\n",
			},
			7000,
		},
		{
			"version 1",
			map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "3:cpu,memory:/job\n1:name=systemd:/\n",
				"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "8000\n",
			},
			8000,
		},
		{
			"version 1, no limit",
			map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "3:memory:/\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			},
			2000 << 10,
		},
		{
			"another controller",
			map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "3:cpu:/job\n",
				"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "8000\n",
			},
			2000 << 10,
		},
		{
			"not numbers",
			map[string]string{
				"proc/meminfo": "MemTotal: much kB\nMemTotal:\n", "proc/self/cgroup": "0\n\n::\n",
				"sys/fs/cgroup/memory.max": "-1",
			},
			0,
		},
	} {
		root := fstest.MapFS{}
		for name, text := range tc.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := memoryOf(root); got != tc.want {
			t.Errorf("%s: got %d bytes, want %d", tc.name, got, tc.want)
		}
	}
	if got := OfMachine(); got < 1<<20 {
		t.Errorf("this machine has %d bytes", got)
	}
}
