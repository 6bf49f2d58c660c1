//go:build linux

// Package resources leaks what the operating system holds for a process: descriptors, mappings,
// child processes, threads, and files for some time only.
package resources

import (
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "resources", Cases: []judge.Case{
	{Name: "Opened", Leak: lost(open), Fixed: closed(open), Grows: descriptors, Culprit: `\+1\.00 fd/op: /etc/passwd\n.*\n.*lost`},
	{Name: "OpenedKept", Leak: kept(open), Fixed: closed(open), Grows: descriptors, Culprit: `\+1\.00 fd/op: /etc/passwd, with .*resources\.numbers`},
	{Name: "OpenedOthers", Leak: lost(openOthers), Fixed: closed(openOthers), Grows: descriptors, Culprit: `\+1\.00 fd/op: files in /`},
	{Name: "Folder", Leak: lost(openFolder), Fixed: closed(openFolder), Grows: descriptors, Culprit: `\+1\.00 fd/op: /etc\b`},
	{Name: "Deleted", Leak: lost(openDeleted), Fixed: closed(openDeleted), Grows: descriptors, Culprit: `\+1\.00 fd/op: .*\(deleted\)`},
	// A system has at most 4,096 terminals (/proc/sys/kernel/pty/max), and a listener has at most
	// as many connections that nobody accepts (net.core.somaxconn).
	{Name: "Terminal", Leak: lost(openTerminal), Fixed: closed(openTerminal), Grows: descriptors, Calls: 15, Culprit: `\+1\.00 fd/op: /dev/.*ptmx`},
	{Name: "Duplicate", Leak: lost(duplicate), Fixed: closed(duplicate), Grows: descriptors, Culprit: `\+1\.00 fd/op: `},
	{Name: "Pipe", Leak: lost(pipe), Fixed: closed(pipe), Grows: descriptors.PerCall(2), Culprit: `\+2\.00 fd/op: pipe`},
	{Name: "PipeEnd", Leak: lost(pipeEnd), Fixed: closed(pipeEnd), Grows: descriptors, Culprit: `\+1\.00 fd/op: pipe \(write end\)`},
	{Name: "Pair", Leak: lost(pair), Fixed: closed(pair), Grows: descriptors.PerCall(2), Culprit: `\+2\.00 fd/op: unix socket`},
	{Name: "Poller", Leak: lost(poller), Fixed: closed(poller), Grows: descriptors, Culprit: `\+1\.00 fd/op: eventpoll`},
	{Name: "Event", Leak: lost(event), Fixed: closed(event), Grows: descriptors, Culprit: `\+1\.00 fd/op: eventfd`},
	{Name: "Notify", Leak: lost(notify), Fixed: closed(notify), Grows: descriptors.After(5), Calls: 3, Culprit: `\+1\.00 fd/op: inotify`},
	{Name: "Netlink", Leak: lost(netlink), Fixed: closed(netlink), Grows: descriptors, Culprit: `\+1\.00 fd/op: netlink socket`},
	{Name: "Connected", Leak: connecting(lost), Fixed: connecting(closed), Grows: descriptors, Calls: 15, Culprit: `\+1\.00 fd/op: socket to 127\.0\.0\.1:\d+ \(ESTABLISHED\)`},
	{Name: "ConnectedAnywhere", Leak: lost(connectAnywhere), Fixed: closed(connectAnywhere), Grows: descriptors, Culprit: `\+1\.00 fd/op: sockets to 127\.0\.0\.1`},
	{Name: "Dialed", Leak: dialing(false), Fixed: dialing(true), Grows: descriptors, Culprit: `\+[12]\.00 fd/op: socket (to|accepted at) 127\.0\.0\.1:\d+`, Also: "resources.pool.conns"},
	{Name: "Accepted", Leak: accepting(false), Fixed: accepting(true), Grows: descriptors, Culprit: `fd/op: socket accepted at 127\.0\.0\.1:\d+`, Also: "resources.accepted"},
	{Name: "Listening", Leak: listening(false), Fixed: listening(true), Grows: descriptors, Culprit: `\+1\.00 fd/op: sockets listening at 127\.0\.0\.1`, Also: "resources.listeners"},
	{Name: "Datagrams", Leak: datagrams(false), Fixed: datagrams(true), Grows: descriptors, Culprit: `\+1\.00 fd/op: udp socket`, Also: "resources.receivers"},
	{Name: "UnixDialed", Leak: unixDialing(false), Fixed: unixDialing(true), Grows: descriptors, Culprit: `fd/op: unix socket to /`, Also: "resources.pool.conns"},
	{Name: "Files", Leak: files(false), Fixed: files(true), Grows: descriptors, Culprit: `\+1\.00 fd/op: /etc/passwd, with \+1\.00 .*resources\.logs`},
	{Name: "Roots", Leak: roots(false), Fixed: roots(true), Grows: descriptors, Culprit: `\+1\.00 fd/op: /etc, with .*resources\.folders`},

	{Name: "Zombie", Leak: started("true", false), Fixed: started("true", true), Grows: children, Calls: 4, Culprit: `\+1\.00 child process/op: true \(ended, and not waited for\)`},
	{Name: "Running", Leak: started("sleep", false), Fixed: started("sleep", true), Grows: children, Calls: 4, Culprit: `\+1\.00 child process/op: sleep \(running\)`},
	{Name: "CommandDropped", Leak: command(false), Fixed: command(true), Grows: children, Calls: 4, Culprit: `\+1\.00 child process/op: true`},

	{Name: "Mapped", Leak: mapped(false), Fixed: mapped(true), Grows: addresses.PerCall(32 << 10), Culprit: `\+32\.0 KiB/op: anonymous memory\n.*\n.*not unmapped`, SaysWithRace: "could not tell, and did not judge: +32.0 KiB/op: anonymous memory"},
	{Name: "MappedView", Leak: viewed(16384, 10, false), Fixed: viewed(16384, 10, true), Grows: addresses.PerCall(16384), Culprit: `\+16\.0 KiB/op: .*/text, with .*resources\.views`},
	{Name: "MappedLost", Leak: mappedLost(false), Fixed: mappedLost(true), Grows: addresses.PerCall(mapSize), Culprit: `\+32\.0 KiB/op: anonymous memory, with .*syscall\.mapper\.active\n    the usual cause: Munmap is not called for what syscall\.Mmap returned`, CulpritWithRace: `\+1\.0\d entries/op .* via syscall\.mapper\.active\n    the usual cause: Munmap is not called for what syscall\.Mmap returned`},
	{Name: "MappedFile", Leak: mappedFile(false), Fixed: mappedFile(true), Grows: addresses.PerCall(4096), Culprit: `\+4\.0 KiB/op: .*/text, with .*resources\.views`},
	{Name: "Threads", Leak: threads(false), Fixed: threads(true), Grows: osThreads, Calls: 4, Culprit: `\+1\.00 goroutine/op .*in .*resources\.`},
	{Name: "Stack", Leak: recursing(false), Fixed: recursing(true), Grows: stackBytes.After(60).PerCall(2048), Calls: 100, Culprit: `B/op: goroutine stack`},
	{Name: "TemporaryFiles", Leak: temporary(false), Fixed: temporary(true), Grows: inTemp, Culprit: `\+1\.00 temporary file/op: .*/upload-\*`},
	{Name: "TemporaryFolders", Leak: temporaryFolders(false), Fixed: temporaryFolders(true), Grows: inTemp, Culprit: `\+1\.00 temporary file/op: .*/work-\*`},

	{Name: "OpenAndClose", Healthy: closed(open), Grows: descriptors},
	{Name: "PoolAtItsLimit", Healthy: poolAtItsLimit, Grows: descriptors},
	{Name: "PoolReplaces", Healthy: poolReplaces, Grows: descriptors},
	{Name: "DescriptorsByTurns", Healthy: byTurns, Grows: descriptors},
	{Name: "OpenedLazily", Healthy: openedLazily, Grows: descriptors},
	{Name: "DroppedFiles", Healthy: droppedFiles, Grows: judge.Objects.After(40)},
	{Name: "KeepAlive", Healthy: keepAlive, Grows: descriptors},
	{Name: "Resolver", Healthy: resolves, Grows: descriptors},
	{Name: "Randomness", Healthy: randomness, Grows: descriptors},
	{Name: "WaitedFor", Healthy: command(true), Grows: children, Calls: 4},
	{Name: "WaitedForLater", Healthy: waitedLater, Grows: children, Calls: 4},
	{Name: "MappedInTurns", Healthy: mappedInTurns, Grows: addresses.PerCall(4096)},
	{Name: "MappedCacheFills", Healthy: mappedCache, Grows: addresses.PerCall(4096)},
	{Name: "ThreadsComeAndGo", Healthy: blockedThreads, Grows: osThreads, Calls: 4},
	{Name: "LockedThreadsEnd", Healthy: threads(true), Grows: osThreads, Calls: 4},
	{Name: "DeepRecursion", Healthy: recursion, Grows: judge.Objects},
	{Name: "TestFolders", Healthy: testFolders, Grows: descriptors},
	{Name: "FilesReplaced", Healthy: filesReplaced, Grows: descriptors},
	{Name: "LogsRotate", Healthy: logsRotate, Grows: descriptors},
	{Name: "EnvironmentSet", Healthy: environmentSet, Grows: descriptors},
	{Name: "RootsClosed", Healthy: roots(true), Grows: descriptors},
	{Name: "ListenersClosed", Healthy: listening(true), Grows: descriptors},
}}

// The measures are the kernel's figures, as package os reads them.
var (
	descriptors = judge.Entries(func() int { return entries("/proc/self/fd") })
	osThreads   = judge.Entries(func() int { return entries("/proc/self/task") }).After(5)
	children    = judge.Entries(countChildren).After(5)
	stackBytes  = judge.Entries(func() int {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int(stats.StackInuse)
	})
	inTemp    = judge.Entries(func() int { return entries(os.TempDir()) })
	addresses = judge.Entries(func() int { return 1024 * number(status("self"), "VmSize:") })
)

func entries(folder string) int {
	all, err := os.ReadDir(folder)
	if err != nil {
		panic(err)
	}
	return len(all)
}

func status(pid string) string {
	text, _ := os.ReadFile("/proc/" + pid + "/status")
	return string(text)
}

// number is the figure behind a name in a status file.
func number(status, name string) int {
	_, after, _ := strings.Cut(status, "\n"+name)
	fields := strings.Fields(after)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(fields[0])
	return n
}

func countChildren() (n int) {
	all, _ := os.ReadDir("/proc")
	for _, e := range all {
		if number(status(e.Name()), "PPid:") == os.Getpid() {
			n++
		}
	}
	return n
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func localListener(t *testing.T) net.Listener {
	ln := must(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { ln.Close() })
	return ln
}
