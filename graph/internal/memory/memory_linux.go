package memory

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

func ofMachine() int64 { return memoryOf(os.DirFS("/")) }

// memoryOf returns the smallest limit that a Linux system reports: the memory in /proc/meminfo, and the limits of the
// process's cgroup and of all enclosing groups, of version 2 and of version 1. It returns 0 if there is none. In a
// container the path of the group may be the host's, so only the groups that exist count.
func memoryOf(root fs.FS) (least int64) {
	limit := func(n int64) {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	info, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(info)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
			limit(1024 * number(f[1]))
		}
	}
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		id, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		mount, file := "sys/fs/cgroup", "memory.max"
		if id != "0" || controllers != "" {
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
			if !strings.Contains(","+controllers+",", ",memory,") {
				continue
			}
		}
		for at := path.Clean("/" + group); ; at = path.Dir(at) {
			text, _ := fs.ReadFile(root, path.Join(mount, at, file))
			limit(number(strings.TrimSpace(string(text))))
			if at == "/" {
				break
			}
		}
	}
	return least
}

// number parses a number. It returns 0 for any other text, such as "max".
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
