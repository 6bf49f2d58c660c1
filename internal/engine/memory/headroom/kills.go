package headroom

import "fmt"

// Kills returns how many processes of this process's own cgroup, and of those below it, the kernel
// has killed for lack of memory so far, whatever the limit; the kills of other containers are none
// of them. What cannot be read is none.
func (s System) Kills() (n int64) {
	for _, h := range s.hierarchies("memory") {
		file := "memory.events"
		if h.v1 {
			file = "memory.oom_control"
		}
		n += s.table(h.folder+s.groupIn(h)+"/"+file, " ")["oom_kill"]
	}
	return n
}

// Tightest describes the least of the limits of cgroups, or the machine's memory if there is none:
// "memory.max of the cgroup /app is 512 MiB".
func (s System) Tightest() string {
	limits := s.groups(0)
	if len(limits) == 0 {
		limits, _ = s.machine()
	}
	text, least := "the limit is not known", int64(0)
	for _, l := range limits {
		if least == 0 || l.Max < least {
			text, least = fmt.Sprintf("%s is %d MiB", l.Name, l.Max>>20), l.Max
		}
	}
	return text
}
