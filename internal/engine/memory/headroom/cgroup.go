package headroom

import (
	"path"
	"strings"
	"sync/atomic"
)

// A hierarchy is a mount of control groups with a controller.
type hierarchy struct {
	// the group that is mounted, such as "/docker/12ab" in a container without its own cgroup
	// namespace
	root   string
	folder string
	v1     bool
	// whose limits are read: memory, pids
	controller string
}

const raiseGroup = "raise the container's memory limit to %d MiB or more (docker run --memory, resources.limits.memory, MemoryMax)"

// groups returns the limits of the process's control groups and of all their ancestors.
func (s System) groups(swap int64) []Limit {
	var limits []Limit
	s.eachGroup("memory", func(h hierarchy, group string) {
		if h.v1 {
			limits = append(limits, s.groupV1(h, group, swap)...)
		} else {
			limits = append(limits, s.groupV2(h, group, swap)...)
		}
	})
	return limits
}

// Groups returns the folders of the process's control groups with a controller, and of all their
// ancestors.
func (s System) Groups(controller string) (folders []string) {
	s.eachGroup(controller, func(h hierarchy, group string) { folders = append(folders, path.Join(h.folder, group)) })
	return folders
}

// eachGroup calls f for the process's control groups with a controller, and for all their
// ancestors.
func (s System) eachGroup(controller string, f func(h hierarchy, group string)) {
	for _, h := range s.hierarchies(controller) {
		for group := s.groupIn(h); ; group = path.Dir(group) {
			f(h, group)
			if group == "/" {
				break
			}
		}
	}
}

// hierarchies finds the mounts of control groups with a controller (proc(5), /proc/pid/mountinfo).
func (s System) hierarchies(controller string) []hierarchy {
	text, err := readFile(s.path("/proc/self/mountinfo"))
	if err != nil {
		return nil
	}
	var found []hierarchy
	for line := range strings.Lines(string(text)) {
		// "31 24 0:27 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory"
		mount, kind, _ := strings.Cut(line, " - ")
		if !strings.HasPrefix(kind, "cgroup") {
			continue
		}
		fields, more := strings.Fields(mount), strings.Fields(kind)
		if len(fields) < 5 || len(more) < 3 {
			continue
		}
		v1 := more[0] == "cgroup" && strings.Contains(","+more[2]+",", ","+controller+",")
		if v1 || more[0] == "cgroup2" {
			found = append(found, hierarchy{root: path.Clean(fields[3]), folder: fields[4], v1: v1, controller: controller})
		}
	}
	return found
}

// groupIn returns the path of the process's group below the mount: "/" if the mount does not show
// it.
func (s System) groupIn(h hierarchy) string {
	text, err := readFile(s.path("/proc/self/cgroup"))
	if err != nil {
		return "/"
	}
	for line := range strings.Lines(string(text)) {
		// "4:memory:/docker/1234", or "0::/user.slice" of version 2 (cgroups(7)).
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 || h.v1 != strings.Contains(","+fields[1]+",", ","+h.controller+",") || !h.v1 && fields[1] != "" {
			continue
		}
		group := path.Clean("/" + fields[2])
		if below, ok := strings.CutPrefix(group, h.root); ok && h.root != "/" {
			group = path.Clean("/" + below)
		}
		for _, file := range []string{"/memory.current", "/memory.limit_in_bytes", "/pids.current", "/cgroup.controllers"} {
			if _, err := readFile(s.path(h.folder + group + file)); err == nil {
				return group
			}
		}
	}
	return "/"
}

// groupV1 reads one group of version 1 (Linux Documentation/admin-guide/cgroup-v1/memory.rst).
func (s System) groupV1(h hierarchy, group string, swap int64) []Limit {
	folder := h.folder + group + "/"
	most, ok := s.number(folder + "memory.limit_in_bytes")
	used, ok2 := s.number(folder + "memory.usage_in_bytes")
	if !ok || !ok2 {
		return nil
	}
	stat := s.table(folder+"memory.stat", " ")
	room := most - used + reclaimable(stat["total_inactive_file"], stat["total_active_file"])
	both, ok := s.number(folder + "memory.memsw.limit_in_bytes")
	bothUsed, ok2 := s.number(folder + "memory.memsw.usage_in_bytes")
	if ok && ok2 {
		swap = min(swap, both-bothUsed-(most-used))
	}
	return []Limit{{
		Name: "memory.limit_in_bytes of the cgroup " + group, Max: most, Room: room + max(0, swap),
		Remedy: raiseGroup, amount: resident,
	}}
}

// activeKept is how many bytes of active file pages, those used more than once, are assumed to be
// in use by running programs.
const activeKept = 32 << 20

// reclaimable returns how many bytes of file pages the kernel can reclaim before it kills a
// process. It reclaims inactive pages, those used once, first.
func reclaimable(inactive, active int64) int64 {
	return inactive + max(0, active-activeKept, min(active, Spare.Load()))
}

// Spare is how many bytes of this process's own file pages it can do without, though it uses them:
// it reads them again from the disk.
var Spare atomic.Int64

// groupV2 reads one group of version 2 (Linux Documentation/admin-guide/cgroup-v2.rst). Beyond
// memory.high nothing is killed, but the process is slowed down so much that it stands still.
func (s System) groupV2(h hierarchy, group string, swap int64) []Limit {
	folder := h.folder + group + "/"
	used, ok := s.number(folder + "memory.current")
	if !ok {
		return nil
	}
	stat := s.table(folder+"memory.stat", " ")
	used -= reclaimable(stat["inactive_file"], stat["active_file"]) + stat["slab_reclaimable"]
	if most, ok := s.number(folder + "memory.swap.max"); ok {
		now, _ := s.number(folder + "memory.swap.current")
		swap = min(swap, most-now)
	}
	var limits []Limit
	for _, file := range []string{"memory.max", "memory.high"} {
		if most, ok := s.number(folder + file); ok {
			limits = append(limits, Limit{
				Name: file + " of the cgroup " + group, Max: most, Room: most - used + max(0, swap),
				Remedy: raiseGroup, amount: resident,
			})
		}
	}
	return limits
}
