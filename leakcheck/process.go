package leakcheck

import (
	"context"
	"errors"
	"os"

	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/service"
	"github.com/leakgate/leakgate/refscan"
)

// A ProcessOption makes an assertion one about another process. It is an option of AssertNoGrowth,
// AssertRetained, Find and TakeBaseline.
type ProcessOption struct {
	pid        int
	executable string
	calls      int
}

// InProcess makes an assertion one about another process: a service that the test has started, for
// example. The test needs nothing of the service but its process ID.
//
//	server := exec.Command("./server", "-addr", addr)
//	...
//	leakcheck.AssertNoGrowth(t, func() { login(addr); logout(addr) }, leakcheck.InProcess(server.Process.Pid))
//	leakcheck.AssertRetained(t, leakcheck.InProcess(server.Process.Pid), leakcheck.Root("main.sessions").MaxObjects(1))
//
// Objects, goroutines, timers, stacks, descriptors, threads, child processes, mapped memory and
// blocks of C's malloc are then those of the process; temporary files and environment variables do
// not count. Type bounds are by name, with TypeNamed. What other clients make the process do
// counts, too.
//
// The process has to be one of Go 1.26 or 1.27 on linux/amd64 or linux/arm64, with debug
// information, and this process needs the right to trace it, as it has for its own children. It is
// stopped for each snapshot, for as long as a fork takes: some 15 ms for 300 MB. It notices
// nothing: it gets no signal and no child, and no collection is forced. So what the next
// collections would free does not count: unreachable objects, what is in a sync.Pool, and what
// waits for a finalizer or cleanup. doc/process.md has more.
func InProcess(pid int) ProcessOption { return ProcessOption{pid: pid} }

// Executable names the file with the process's debug information: the unstripped file of the same
// build. Without it, that is the file that the process runs.
func (o ProcessOption) Executable(file string) ProcessOption {
	o.executable = file
	return o
}

// Calls says that each call of op asks the process so many times for something, as a tool does that
// makes load: rates are then for each of these.
func (o ProcessOption) Calls(n int) ProcessOption {
	o.calls = n
	return o
}

// InReports makes AssertNoGrowth one about a process that says by itself what it retains, such as
// one that this process may not trace: look asks it for a report, as refscanhttp.Handler has it,
// and for the stacks of its goroutines, as net/http/pprof writes them with debug=2; "" if it does
// not say. Resources of the operating system do not count. Messages have its name; calls is how
// many calls each call of op stands for, 1 as a rule. "leakgate repeat -url" does all this.
func InReports(name string, calls int, look func(context.Context) (report *refscan.Report, stacks string, err error)) GrowthOption {
	return growthSetting(func(r *request.Request) {
		if r.Each = calls; calls < 1 {
			r.Problem("InReports(%q, %d): op makes at least one call", name, calls)
		}
		if look == nil {
			r.Problem("InReports(%q): look is nil", name)
			return
		}
		r.LookInto(service.NewReporter(name, look), nil)
		r.Unscoped = true
	})
}

type growthSetting func(*request.Request)

func (s growthSetting) applyGrowth(r *request.Request) { s(r) }

func (o ProcessOption) apply(r *request.Request) {
	if r.Each = o.calls; r.Each < 0 {
		r.Problem("Calls(%d): op makes at least one", r.Each)
	}
	switch {
	case o.pid <= 0:
		r.LookInto(nil, errors.New("a process ID is positive; a process that was started has it in Process.Pid"))
	case o.pid == os.Getpid():
		r.LookInto(nil, errors.New("this is the test's own process; leave InProcess out"))
	default:
		r.LookInto(service.New(o.pid, o.executable), nil)
	}
}

func (o ProcessOption) applyGrowth(r *request.Request) { o.apply(r) }

func (o ProcessOption) applyBaseline(r *request.Request) { o.apply(r) }
