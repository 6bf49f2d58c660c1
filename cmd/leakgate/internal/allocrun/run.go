package allocrun

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/internal/alloctrace"
	"github.com/leakgate/leakgate/internal/textfmt"
)

// A Config says what to run.
type Config struct {
	Folder  string   // for the binary, its trace and its profile; it belongs to the caller
	Dir     string   // where the go command runs
	Env     []string // of the go command and of the tests
	Package string   // import path
	Source  string   // folder of the package, in which its tests run
	Build   []string // flags of go test -c
	Args    []string // of the test binary, with -test. before each
	Timeout time.Duration
	// WithoutMain leaves out, of the types, what the main goroutine allocates: it runs package
	// testing and examples.
	WithoutMain bool
}

// A Result is what the tests and benchmarks of a package allocated, or a process.
type Result struct {
	Package string `json:"package"`
	Failed  bool   `json:"failed,omitempty"` // tests failed: what they allocated until then counts
	// Types are nil if Untraced says why they are not known.
	Types          []*TypeRow `json:"types,omitempty"`
	Untraced       string     `json:"untraced,omitempty"`
	Objects        int64      `json:"objects"` // objects that the tracer saw
	UnsizedObjects int64      `json:"unsized_objects,omitempty"`
	// SmallObjects have no type that the runtime knows, and 16 bytes each, where an ordinary run
	// puts several of less than 16 bytes into one block.
	SmallObjects int64     `json:"small_objects,omitempty"`
	Sites        []*Site   `json:"sites"`
	SiteObjects  int64     `json:"site_objects"`
	SiteBytes    int64     `json:"site_bytes"`
	Sampling     *Sampling `json:"sampling,omitempty"` // of a process

	Profile *profile.Profile `json:"-"` // by stack: objects and bytes allocated
	Output  string           `json:"-"` // of the tests
}

// A BuildError is the output of the go command for a package whose tests do not build.
type BuildError struct{ Output string }

func (e *BuildError) Error() string { return e.Output }

// A Binary is the test binary of a package, built and ready to be run.
type Binary struct {
	*testBinary
	config      *Config
	untraceable error // why its allocations cannot be traced; nil: they can
}

// Build builds the tests of a package. It returns nil if there are none; a *BuildError says that
// they do not build.
func Build(ctx context.Context, c *Config) (*Binary, error) {
	path := filepath.Join(c.Folder, "package.test")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	args := append(append([]string{"test", "-c", "-o", path}, c.Build...), c.Package)
	if out, err := gotest.Output(ctx, c.Dir, c.Env, "go", args...); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &BuildError{strings.TrimSpace(string(out))}
	}
	if _, err := os.Stat(path); err != nil {
		return nil, nil // no test files
	}
	b := &Binary{testBinary: &testBinary{path: path}, config: c}
	if info, err := buildinfo.ReadFile(path); err == nil {
		b.module = info.Main.Path
	}
	b.untraceable = b.prepare()
	return b, nil
}

// Run runs the tests once, with types and lines, and once more without types if the tracer fails.
// Errors say that the tests ended without a profile, for example by os.Exit, a crash or a timeout.
func (b *Binary) Run(ctx context.Context) (*Result, error) { return b.run(ctx, everyAllocation) }

// Types runs the tests once, for types alone: at 1.0 to 1.7 times the CPU time of the tests. The
// result has no lines and no profile. Errors are those of Run; if the types cannot be told, the
// result says so.
func (b *Binary) Types(ctx context.Context) (*Result, error) { return b.run(ctx, noAllocation) }

func (b *Binary) run(ctx context.Context, rate profileRate) (*Result, error) {
	if b.untraceable != nil {
		return b.withoutTrace(ctx, rate, b.untraceable)
	}
	r, err := b.once(ctx, rate, true)
	if trouble, ok := errors.AsType[*traceError](err); ok {
		return b.withoutTrace(ctx, rate, trouble)
	}
	return r, err
}

func (b *Binary) withoutTrace(ctx context.Context, rate profileRate, cause error) (*Result, error) {
	if rate == noAllocation {
		return &Result{Package: b.config.Package, Untraced: cause.Error()}, nil
	}
	r, err := b.once(ctx, rate, false)
	if r != nil {
		r.Untraced = cause.Error()
	}
	return r, err
}

// A profileRate is a rate of the memory profiler: the bytes that are allocated between two samples.
type profileRate int

const (
	everyAllocation profileRate = 1
	// The profile is then only the sign that the tests came to their end: package testing writes it
	// at that point.
	noAllocation profileRate = 1 << 40
)

// A traceError says why a trace does not tell what was allocated.
type traceError struct{ cause string }

func (e *traceError) Error() string { return e.cause }

// once runs the test binary, with a trace or without.
func (b *Binary) once(ctx context.Context, rate profileRate, traced bool) (*Result, error) {
	c := b.config
	profilePath := filepath.Join(c.Folder, "allocs.pb.gz")
	if err := os.Remove(profilePath); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	p, err := b.process(ctx, profilePath, rate, traced)
	if err != nil {
		return nil, err
	}
	data, profileErr := os.ReadFile(profilePath)
	if traced && (p.traceErr != nil || profileErr != nil && p.crashedInTracer()) {
		return nil, p.traceTrouble()
	}
	if profileErr != nil || len(data) == 0 {
		return nil, fmt.Errorf("its tests ended without a profile (%s); the end of their output:\n%s", p.ended, textfmt.LastLines(p.output, 20))
	}
	r := &Result{Package: c.Package, Failed: p.failed, Output: p.output}
	if traced {
		r.Objects, r.UnsizedObjects = p.totals.Objects, p.totals.UnsizedObjects
		r.Types = rowsOf(p.totals.Counts, b.types, b.classes)
		for _, n := range p.totals.Counts {
			if n.Type == 0 && n.Size == alloctrace.BlockSize {
				r.SmallObjects += n.Objects
			}
		}
	}
	if rate == everyAllocation {
		if err := r.addProfile(data, b.testBinary, ownPackages(b.module, c.Package)); err != nil {
			return nil, fmt.Errorf("%w (%s); the end of their output:\n%s", err, p.ended, textfmt.LastLines(p.output, 20))
		}
	}
	return r, nil
}

// addProfile adds the lines of a profile, with types where the binary's code tells them.
func (r *Result) addProfile(data []byte, b *testBinary, own func(pkg string) bool) error {
	p, err := cli.ParseProfile(data)
	if err != nil {
		return fmt.Errorf("the profile of its tests: %w", err)
	}
	if err := keepAllocations(p); err != nil {
		return err
	}
	program, err := openProgram(b.path, 0)
	if err != nil {
		program = nil // code that is not known has no types
	}
	untold := labelTypes(p, program, b.classes)
	for _, row := range r.Types {
		if told := untold[row.Name]; told != nil && row.Untyped {
			row.Of = told.list()
		}
	}
	r.Profile, r.Sites = p, sitesOf(p, own)
	for _, s := range r.Sites {
		r.SiteObjects += s.Objects
		r.SiteBytes += s.Bytes
	}
	return nil
}

// keepAllocations reduces a heap profile to the objects and bytes that were ever allocated.
func keepAllocations(p *profile.Profile) error {
	if len(p.SampleType) < 2 || p.SampleType[0].Type != "alloc_objects" || p.SampleType[1].Type != "alloc_space" {
		return errors.New("the profile of its tests has no allocations")
	}
	p.SampleType = p.SampleType[:2]
	p.DefaultSampleType = "alloc_objects"
	for _, s := range p.Sample {
		s.Value = s.Value[:2]
	}
	return nil
}

// A process is a test binary that has ended.
type process struct {
	output   string
	ended    string // exit status, or how it was killed
	failed   bool
	killed   bool // after its time limit
	totals   *alloctrace.Totals
	traceErr error
}

// mainGoroutine is the number of the goroutine that runs main.
const mainGoroutine = 1

// outputLimit is how many bytes of the tests' output are kept, from its end.
const outputLimit = 1 << 20

// grace is how long a test binary may exceed its own time limit, since it cannot end itself if the
// tracer hangs.
const grace = time.Minute

func (b *Binary) process(ctx context.Context, profilePath string, rate profileRate, traced bool) (*process, error) {
	c := b.config
	ctx, cancel := context.WithTimeout(ctx, c.Timeout+grace)
	defer cancel()
	args := []string{"-test.paniconexit0", "-test.timeout=" + c.Timeout.String(), "-test.memprofile=" + profilePath, fmt.Sprintf("-test.memprofilerate=%d", rate)}
	cmd := exec.CommandContext(ctx, b.path, append(args, c.Args...)...)
	var output tail
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Source, &output, &output
	cmd.Env = append(c.Env[:len(c.Env):len(c.Env)], "PWD="+c.Source)
	cmd.WaitDelay = 10 * time.Second // a child of a test may outlive it and hold its output
	group := gotest.NewGroup(cmd)
	defer group.Close()
	cmd.Cancel = group.Kill
	p := new(process)
	wait := func() {}
	if traced {
		in, out, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer func() { _ = in.Close() }()
		// A pipe, not a file: a trace takes 10 bytes an allocation, and need not be kept.
		cmd.ExtraFiles = []*os.File{out}
		cmd.Args = append(cmd.Args[:1:1], append([]string{"-test.trace=/proc/self/fd/3"}, cmd.Args[1:]...)...)
		cmd.Env = append(cmd.Env, "GODEBUG="+alloctrace.Setting(cli.Lookup(c.Env, "GODEBUG")))
		done := make(chan struct{})
		var without uint64
		if c.WithoutMain {
			without = mainGoroutine
		}
		go func() {
			defer close(done)
			p.totals, p.traceErr = alloctrace.ReadTotals(in, b.classes, without)
			if p.traceErr != nil {
				_, _ = io.Copy(io.Discard, in) // let the tests go on
			}
		}()
		wait = func() {
			_ = out.Close()
			// A child of a test may hold the write end.
			_ = in.SetReadDeadline(time.Now().Add(10 * time.Second))
			<-done
		}
	}
	err := group.Run()
	wait()
	if cmd.ProcessState == nil {
		return nil, err
	}
	p.output, p.ended = output.String(), cmd.ProcessState.String()
	p.failed = !cmd.ProcessState.Success()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		p.killed, p.ended = true, fmt.Sprintf("killed %v after its time limit of %v", grace, c.Timeout)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return p, nil
}

// crashedInTracer reports whether the runtime's tracer failed, or the process had to be killed.
func (p *process) crashedInTracer() bool {
	return strings.Contains(p.output, "runtime.trace") || strings.Contains(p.output, "runtime.(*trace") || p.killed
}

// traceTrouble returns why the trace cannot be used.
func (p *process) traceTrouble() error {
	switch {
	case p.crashedInTracer():
		return &traceError{"the runtime's execution tracer failed (" + p.ended + "), as Go 1.26 and 1.27 do where a stack grows at the wrong moment; try again, or fewer tests (-run)"}
	case errors.Is(p.traceErr, alloctrace.ErrNoEvents):
		return &traceError{"the execution trace has no allocations, as it is where TestMain sets GODEBUG or starts a trace; let it not do that here"}
	}
	return &traceError{"the execution trace cannot be read: " + p.traceErr.Error() + "; the tests ended so: " + p.ended}
}

// A tail keeps the end of what is written.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	t.Buffer.Write(p)
	if over := t.Len() - 2*outputLimit; over > 0 {
		t.Next(t.Len() - outputLimit)
	}
	return len(p), nil
}
